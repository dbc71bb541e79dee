import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { formatYaml } from '../../config/formatting/format.js'
import { shownFile } from '../../config/problems.js'
import { packageRoot } from '../../core/package-root.js'
import { CommandError, coloured, EXIT, type Io, paints, print } from '../io.js'
import { oneText, printProblems } from '../loading.js'
import { findingLines } from './findings.js'
import { importData } from './kinds.js'
import { READERS } from './readers.js'
import { type Foreign, type Translated, translate } from './translate.js'

/** Prints the translation on standard output, and what became of each setting on standard error. */
export async function importFile(from: string, file: string, model: string, io: Io): Promise<number> {
  const foreign = await foreignOf(from)
  const read = await oneText(file, io, false)
  const result = read && (await translate(foreign, shownFile(file), read.text, model))
  if (result === undefined || 'problems' in result) {
    await printProblems(result?.problems ?? [], io.stderr, io)
    throw new CommandError(`${file} cannot be read`, EXIT.failed)
  }
  if (result.unknown !== undefined) {
    report(result, io)
    throw new CommandError(nothingIn(result.unknown, from), EXIT.failed)
  }
  const formatted = formatYaml('imported.yaml', result.text)
  io.stdout.write('text' in formatted ? formatted.text : result.text)
  report(result, io)
  return (await isValid(result, io)) ? EXIT.ok : EXIT.failed
}

/** Outermost words that only files of one gateway have. */
const TELLING: Readonly<Record<string, string>> = {
  model_list: 'litellm',
  targets: 'portkey',
  providers: 'bifrost',
  channels: 'one-api or new-api',
  provider_keys: 'aisix',
  llm: 'agentgateway',
  upstreams: 'this gateway itself',
}
/** Words that a message names. */
const MAX_WORDS = 6

function nothingIn(words: readonly string[], from: string): string {
  const shown = words.slice(0, MAX_WORDS).map(word => JSON.stringify(word))
  const owner = words.flatMap(word => (Object.hasOwn(TELLING, word) ? (TELLING[word] ?? []) : []))[0]
  const whose = owner === undefined || owner.split(' or ').includes(from) ? '' : `: that is a file of ${owner}`
  return `no model, upstream or key of ${from} was found; the file has ${shown.join(', ')}${whose}`
}

async function foreignOf(from: string): Promise<Foreign> {
  const files = await readdir(join(packageRoot(), 'routes', 'imports'))
  const names = files.map(file => file.replace(/\.yaml$/, '')).filter(name => name !== 'providers')
  if (!names.includes(from)) throw new CommandError(`files of ${names.sort().join(', ')} can be read, not of ${from}`)
  const data = await importData(from)
  const reader = READERS[String(data.reader)]
  if (reader === undefined) throw new Error(`routes/imports/${from}.yaml names no reader`)
  return { name: from, reader, data }
}

function report({ findings }: Translated, io: Io): void {
  const { yellow, dim } = paints(coloured(io.stderr, io.env))
  for (const line of findingLines(findings)) print(io.stderr, line)
  const count = (mark: string): number => findings.filter(one => one.mark === mark).length
  const sums = ['exact', 'approximate', 'manual', 'unsupported'].map(mark => `${count(mark)} ${mark}`)
  const left = count('manual') + count('unsupported') > 0
  print(io.stderr, (left ? yellow : dim)(`findings: ${sums.join(', ')}`))
}

/** What is printed has to pass `gateway validate`, if its secrets are there. */
async function isValid({ text }: Translated, io: Io): Promise<boolean> {
  const { loadPlan } = await import('../../runtime/load.js')
  const { plan, problems } = await loadPlan({
    file: 'imported.yaml',
    env: io.env,
    secrets: 'assume',
    text: Buffer.from(text),
    generated: () => undefined,
  })
  if (plan === undefined)
    await printProblems(
      problems.filter(({ severity }) => severity === 'error'),
      io.stderr,
      io,
    )
  return plan !== undefined
}
