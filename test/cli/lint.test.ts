import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { VALIDATION_RULES } from '../../src/cli/linting/rules/of-validation.js'
import { EXPLAINED, RULES } from '../../src/cli/linting/rules.js'
import { lintPlan } from '../../src/cli/linting/run.js'
import { commentsOf } from '../../src/config/comments.js'
import { packageRoot } from '../../src/core/package-root.js'
import type { Problem } from '../../src/core/problems.js'
import { loadLocated } from '../../src/runtime/load.js'
import { folderWith, textOf } from '../config/support.js'
import { parseGolden } from '../helpers/golden-file.js'
import { command } from './in-process.js'

/** As those of test/golden/config; UPDATE_GOLDEN=1 writes the outputs. */
const FOLDER = join(packageRoot(), 'test/golden/lint')
/** Rules that look at a clock see this time. */
const NOW = Date.UTC(2030, 0, 2)

const names = readdirSync(FOLDER).map(name => name.slice(0, -'.txt'.length))
const found = new Set<string>()

async function lint(
  t: Test,
  files: Readonly<Record<string, string>>,
): Promise<{ problems: readonly Problem[]; text: string }> {
  const folder = folderWith(t, files)
  const loaded = await loadLocated({ file: join(folder, 'gateway.yaml'), env: {}, secrets: 'assume' })
  const texts = new Map(Object.entries(files).map(([name, text]) => [join(folder, name), text]))
  const problems = lintPlan(loaded, texts, NOW)
  const told = problems.map(problem => ({ ...problem, message: `${problem.message} [${problem.rule}]` }))
  return { problems, text: textOf({ ...loaded, problems: told } as never, folder) }
}

for (const name of names.sort()) {
  t.test(`lint reports what the golden file ${name} says`, async t => {
    const golden = parseGolden(readFileSync(join(FOLDER, `${name}.txt`), 'utf8'))
    const { problems, text } = await lint(t, golden.files)
    for (const { rule } of problems) found.add(rule)
    if (process.env.UPDATE_GOLDEN === '1')
      writeFileSync(join(FOLDER, `${name}.txt`), `${golden.head}--- output\n${text}`)
    else t.equal(text, golden.output)
    if (RULES.some(({ id }) => id === name))
      t.ok(
        problems.some(({ rule }) => rule === name),
        'the rule finds something',
      )
  })
}

t.test('every rule has a golden file, an id of its own, and nothing empty in its explanation', async t => {
  t.strictSame(
    RULES.filter(({ id }) => !found.has(id)),
    [],
  )
  t.equal(new Set(EXPLAINED.map(({ id }) => id)).size, EXPLAINED.length)
  for (const { id, finds, why, mend } of EXPLAINED) {
    t.match(id, /^[a-z0-9]+(-[a-z0-9]+)+$/)
    for (const text of [finds, why, mend]) t.ok(text.length > 3, id)
  }
})

t.test('warnings of validate that lint can explain are those that it gives', async t => {
  const folder = join(packageRoot(), 'src')
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.ts'))
  const text = sources.map(name => readFileSync(join(folder, name), 'utf8')).join('\n')
  for (const { id } of VALIDATION_RULES) t.ok(text.split(`'${id}'`).length > 2, `${id} is reported by something`)
})

t.test('gateway lint prints findings and a tally; notes fail with --strict alone', async t => {
  const golden = parseGolden(readFileSync(join(FOLDER, 'key-never-expires.txt'), 'utf8'))
  const cwd = folderWith(t, golden.files)
  const file = join(cwd, 'gateway.yaml')
  const { code, stdout, stderr } = await command(['lint', file])
  t.strictSame({ code, stderr }, { code: 0, stderr: '' })
  t.equal(stdout.replaceAll(`${cwd}/`, ''), `${golden.output}gateway.yaml: 1 note\n`)
  t.equal((await command(['lint', file, '--strict'])).code, 1)
  const piped = await command(['lint', '-', '--format', 'json'], { input: golden.files['gateway.yaml'] as string })
  t.match(JSON.parse(piped.stdout), { valid: true, problems: [{ rule: 'key-never-expires', severity: 'note' }] })
  const github = await command(['lint', file, '--format', 'github'])
  t.match(github.stdout, /^::notice file=.*gateway\.yaml,line=4,.*title=key-never-expires::/)
  t.match((await command(['lint', file, '--format', 'sarif'])).stdout, '"level": "note"')
  t.equal((await command(['lint', join(cwd, 'none.yaml')])).code, 2)
})

t.test('gateway lint --explain says why and what to write; an unknown rule gets the nearest', async t => {
  const { code, stdout } = await command(['lint', '--explain', 'http-to-public-address'])
  t.equal(code, 0)
  t.match(stdout, /^http-to-public-address \(error\)\n\nFinds: .*\nWhy: .*\nInstead: +Write `https:/)
  const unknown = await command(['lint', '--explain', 'key-never-expire'])
  t.equal(unknown.code, 2)
  t.match(unknown.stderr, 'did you mean key-never-expires?')
})

t.test('the shipped configuration has no finding above a note', async t => {
  const { code, stdout } = await command(['lint', join(packageRoot(), 'gateway.yaml')])
  t.equal(code, 0, stdout)
})

t.test('a # inside a text does not start a comment', async t => {
  const text = 'a: "x # no"\nb: x#no # yes\n# alone\nc: |\n  # no\n  text\nd: [1, # inside\n  2]\n'
  t.strictSame(commentsOf(text), [
    { line: 2, text: 'yes', isAlone: false },
    { line: 3, text: 'alone', isAlone: true },
    { line: 7, text: 'inside', isAlone: false },
  ])
})
