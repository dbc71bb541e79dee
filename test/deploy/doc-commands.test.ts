import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { main } from '../../src/cli/main.js'
import { packageRoot } from '../../src/core/package-root.js'

/** The command lines of README and docs/: each command, option and script that they name exists. */

const ROOT = packageRoot()
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> }
const PAGES = [
  ...['README.md', 'CONTRIBUTING.md', 'SECURITY.md'],
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.md'))
    .map(name => join('docs', name)),
]

/** Lines of shell blocks, those that are continued as one, without comments. */
function* linesOf(page: string): Iterable<string> {
  const text = readFileSync(join(ROOT, page), 'utf8')
  for (const [, block = ''] of text.matchAll(/^ *```(?:sh|bash|shell|console)(?: [^\n]*)?\n([\s\S]*?)^ *```/gm))
    for (const line of block.replaceAll(/\\\n/g, ' ').split('\n')) yield line.replace(/(^|\s)#.*/, '')
}

const helps = new Map<string, string>()

async function helpOf(words: readonly string[]): Promise<string> {
  const key = words.join(' ')
  const known = helps.get(key)
  if (known !== undefined) return known
  let text = ''
  const write = (piece: string): boolean => {
    text += piece
    return true
  }
  const stdout = { write, on: () => stdout, columns: 200 }
  await main([...words, '--help'], { stdout, stderr: stdout, env: {} } as never)
  helps.set(key, text)
  return text
}

/** The command that words begin with: `keys new`, and its help. */
async function commandOf(words: readonly string[]): Promise<{ name: string; help: string }> {
  const [first = '', second = ''] = words
  const help = await helpOf([first])
  if (!/^Commands:/m.test(help) || !new RegExp(`^ {2}${second}\\b`, 'm').test(help)) return { name: first, help }
  return { name: `${first} ${second}`, help: await helpOf([first, second]) }
}

t.test('each command line in the documentation names commands and options that exist', async t => {
  let seen = 0
  for (const page of PAGES) {
    for (const line of linesOf(page)) {
      for (const [, rest = ''] of line.matchAll(/(?:^|[\s(])gateway ((?:[a-z]+)(?: [^|;&)]*)?)/g)) {
        const words = rest.trim().split(/\s+/)
        const { name, help } = await commandOf(words)
        t.match(help, `Usage: gateway ${name}`, `${page}: gateway ${rest}`)
        for (const option of words.filter(word => /^--[a-z]/.test(word)))
          t.ok(help.includes(option.replace(/=.*/, '')), `${page}: gateway ${rest}: ${option}`)
        seen++
      }
      for (const [, script = ''] of line.matchAll(/\bnpm run (?:--silent )?([\w:]+)/g))
        t.ok(script in scripts, `${page}: npm run ${script}`)
      for (const [, file = ''] of line.matchAll(/\bnode (scripts\/[\w./-]+)/g))
        t.ok(readFileSync(join(ROOT, file)).length > 0, `${page}: ${file}`)
    }
  }
  t.ok(seen > 25, `${seen} command lines`)
})
