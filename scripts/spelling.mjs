// Spelling of what users read: guides, reference, descriptions of settings, the console, and the texts of the program: errors,
// findings, help, lines of the log.
//   node scripts/spelling.mjs
// Names that the dictionaries do not have are in scripts/spelling.json. cspell comes from npm into a temporary folder; without it: skipped.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { install, Skipped } from './clients/install.mjs'
import { runToEnd } from './clients/processes.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const CSPELL = { npm: 'cspell', version: '9.8.0' }
const RUN_TIMEOUT_MS = 120_000
const READ = ['*.md', '.github/**/*.{md,yml}', 'docs/**/*.md', 'schemas/*.json', 'console/src/**/*.tsx', 'action.yml']
/** Where the program's own texts are. */
const PROGRAM = ['src', 'simulator/src']
/** A text with a blank in it is for people; others are names. */
const FOR_PEOPLE = /\s\w/
/** Texts that are programs: of PostgreSQL, of Redis, and of the shells that complete a command. */
const PROGRAM_TEXT =
  /\b(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|LANGUAGE|FROM unnest)\b|redis\.call|\blocal \w+ = |compdef|compadd|COMPREPLY/

const work = mkdtempSync(join(tmpdir(), 'gateway-spelling-'))
process.on('exit', () => rmSync(work, { recursive: true, force: true }))
try {
  await install(CSPELL, work)
  const texts = join(work, 'texts')
  const found = await Promise.all([check(ROOT, READ), check(textsOfProgram(texts), ['**/*.txt'])])
  process.exitCode = found.every(isWell => isWell) ? 0 : 1
} catch (error) {
  if (!(error instanceof Skipped)) throw error
  console.log(`SKIPPED: spelling: ${error.message}`)
}

/** Checks files below a folder, and prints what is wrong. */
async function check(cwd, globs) {
  const args = [join(work, 'node_modules/cspell/bin.mjs'), 'lint', '--config', join(ROOT, 'scripts/spelling.json')]
  args.push('--no-progress', '--dot', '--show-suggestions', '--root', cwd, ...globs)
  const { code, out, err } = await runToEnd(process.execPath, args, {
    cwd,
    env: process.env,
    timeoutMs: RUN_TIMEOUT_MS,
  })
  console.log(`${out}${err}`.trim())
  return code === 0
}

/** Writes the texts of each source file into a folder, each at the line where the file has it, and returns the folder. */
function textsOfProgram(folder) {
  for (const root of PROGRAM)
    for (const name of readdirSync(join(ROOT, root), { recursive: true })) {
      if (!name.endsWith('.ts') || name.endsWith('.generated.ts')) continue
      const text = textsOf(readFileSync(join(ROOT, root, name), 'utf8'))
      if (text === '') continue
      const path = join(folder, root, `${name}.txt`)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, text)
    }
  return folder
}

function textsOf(source) {
  const lines = []
  const file = ts.createSourceFile('a.ts', source, ts.ScriptTarget.Latest, true)
  const visit = node => {
    const isText = ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node)
    // A raw template is a regular expression.
    if (ts.isTaggedTemplateExpression(node)) return
    if (isText && FOR_PEOPLE.test(node.text) && !PROGRAM_TEXT.test(node.text)) {
      const { line } = file.getLineAndCharacterOfPosition(node.getStart())
      lines[line] = `${lines[line] ?? ''} ${node.text.replaceAll('\n', ' ')}`
    }
    ts.forEachChild(node, visit)
  }
  visit(file)
  return lines.length === 0 ? '' : `${Array.from(lines, text => text ?? '').join('\n')}\n`
}
