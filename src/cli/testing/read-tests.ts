import { readFile, stat } from 'node:fs/promises'
import { dirname, extname, resolve } from 'node:path'
import { Site } from '../../config/document.js'
import { parse } from '../../config/parse.js'
import { Report } from '../../config/report.js'
import { checkSchema } from '../../config/schema-check.js'
import { Source } from '../../config/source.js'
import type { Problem } from '../../core/problems.js'
import { SIMULATOR_FAULTS } from '../../runtime/embedded.js'
import { faultWords } from './offline-config.js'
import type { Script, ScriptedAnswer, TestCase, TestFile } from './test-file.js'

/** Most bytes of a file that answers. */
const MAX_BODY_BYTES = 64 * 1024 * 1024
/** A relative path without spaces that ends so: the body of an answer is in that file. */
const BODY_FILE = /^[\w.][\w./-]*\.(?:json|txt|sse)$/
/** Types of such answers by the ends of the files. */
const TYPES: Readonly<Record<string, string>> = {
  '.json': 'application/json',
  '.txt': 'text/plain',
  '.sse': 'text/event-stream',
}

type RawTest = Omit<TestCase, 'title' | 'position'>

/** Reads a file of tests and holds it against its schema. */
export async function readTests(file: string): Promise<TestFile | { readonly problems: readonly Problem[] }> {
  const report = new Report()
  const document = parse(new Source(file, await readFile(file, 'utf8')), false, report)
  if (document !== undefined) checkSchema(document, 'test', report)
  if (document === undefined || report.failed) return { problems: report.sorted() }
  const value = document.tree.value as unknown as {
    readonly config?: string
    readonly tests: Readonly<Record<string, RawTest>>
  }
  const tests: TestCase[] = []
  const bodies = new Set<string>()
  for (const [title, test] of Object.entries(value.tests)) {
    const { position } = document.spot(['tests', title], 'key')
    const upstream: Record<string, Script> = {}
    for (const [name, script] of Object.entries(test.upstream ?? {})) {
      const site = new Site(document, ['tests', title, 'upstream', name])
      await checkFaults(script, site, report)
      upstream[name] = await withBodies(script, site, report, bodies)
    }
    tests.push({ title, position, before: test.before ?? [], request: test.request, upstream, expect: test.expect })
  }
  if (report.failed) return { problems: report.sorted() }
  return { file, config: resolve(dirname(file), value.config ?? 'gateway.yaml'), bodies: [...bodies], tests }
}

async function checkFaults({ simulator }: Script, site: Site, report: Report): Promise<void> {
  if (simulator === undefined) return
  for (const [name, value] of Object.entries(simulator)) {
    const isOneWord = !/[\s,]/.test(`${name}${value}`)
    const problem = isOneWord
      ? await SIMULATOR_FAULTS.problem(faultWords({ [name]: value }))
      : 'expected no spaces and commas'
    if (problem !== undefined) report.error('simulator-fault', site.child('simulator', name), problem, { on: 'key' })
  }
}

/** The script with the content of files in place of their names. */
async function withBodies(script: Script, site: Site, report: Report, files: Set<string>): Promise<Script> {
  const filled = async (answer: ScriptedAnswer, at: Site): Promise<ScriptedAnswer> => {
    const { body, headers } = answer
    if (typeof body !== 'string' || !BODY_FILE.test(body)) return answer
    const file = resolve(site.document.source.folder, body)
    files.add(file)
    const found = await contentOf(file)
    if ('problem' in found) report.error('body-file', at.child('body'), `${found.problem} ${JSON.stringify(body)}`)
    else return { ...answer, body: found.text, headers: { 'content-type': TYPES[extname(file)] ?? '', ...headers } }
    return answer
  }
  const { answer, answers } = script
  if (answer !== undefined) return { ...script, answer: await filled(answer, site.child('answer')) }
  if (answers === undefined) return script
  return { ...script, answers: await Promise.all(answers.map((one, at) => filled(one, site.child('answers', at)))) }
}

async function contentOf(file: string): Promise<{ readonly text: string } | { readonly problem: string }> {
  try {
    const { size } = await stat(file)
    if (size > MAX_BODY_BYTES) return { problem: `more than ${MAX_BODY_BYTES} bytes are in` }
    return { text: await readFile(file, 'utf8') }
  } catch {
    return { problem: 'beside this file there is no file that can be read as' }
  }
}
