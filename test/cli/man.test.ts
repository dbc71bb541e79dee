import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { run } from './bin.js'

/** Macros of man(7) that pages use. */
const MACROS = /^\.(TH|SH|TP|B|BR)( |$)/

t.test('each command has a man page, in macros that every formatter knows', async t => {
  const folder = join(t.testdir({}), 'man1')
  t.equal((await run(['man', '--into', folder])).code, 0)
  const pages = readdirSync(folder)
  for (const name of ['gateway.1', 'gateway-serve.1', 'gateway-keys-list.1', 'gateway-plan.1'])
    t.ok(pages.includes(name))
  const program = readFileSync(join(folder, 'gateway.1'), 'utf8')
  for (const page of pages) {
    const text = readFileSync(join(folder, page), 'utf8')
    t.match(text, /^\.TH GATEWAY\S* 1 "" "model-gateway \d+\.\d+\.\d+" "Model gateway"\n\.SH NAME\n/)
    t.match(text, /\n\.SH SYNOPSIS\n\.B gateway/)
    for (const line of text.split('\n').filter(line => /^[.']/.test(line))) t.match(line, MACROS, page)
    const [, first] = /^gateway-([a-z]+)\.1$/.exec(page) ?? []
    if (first !== undefined && first !== 'help') t.ok(program.includes(`gateway\\-${first}`), `${page} is in the list`)
  }
})

t.test('a page has the options with their values', async t => {
  const { stdout } = await run(['man', 'plan'])
  t.match(stdout, /\.B \\-\\-format <format>\n.*one of: text, json, markdown, github, sarif/)
})

t.test('a command that does not exist has no page', async t => {
  t.match(await run(['man', 'nosuch']), { code: 2, stderr: /there is no command "gateway nosuch"/ })
})
