import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import t from 'tap'
import { main } from '../../src/cli/main.js'
import { run } from './bin.js'
import { GOOD } from './files.js'

const UNTIDY = GOOD.replace('  sim-text: sim', "    sim-text:   'sim' # why").replace('  north-text', '    north-text')
const TIDY = GOOD.replace('  sim-text: sim', '  sim-text: "sim" # why')

t.test('fmt writes files in place and names those that it changed', async t => {
  const cwd = t.testdir({ 'gateway.yaml': UNTIDY, 'other.yaml': TIDY })
  const { code, stdout, stderr } = await run(['fmt', 'gateway.yaml', 'other.yaml'], { cwd })
  t.strictSame({ code, stdout, stderr }, { code: 0, stdout: 'formatted gateway.yaml\n', stderr: '' })
  t.equal(readFileSync(join(cwd, 'gateway.yaml'), 'utf8'), TIDY)
})

t.test('fmt --check writes nothing and exits with 1 if a file would change', async t => {
  const cwd = t.testdir({ 'gateway.yaml': UNTIDY, 'other.yaml': TIDY })
  const { code, stdout } = await run(['fmt', '--check', 'gateway.yaml', 'other.yaml'], { cwd })
  t.strictSame({ code, stdout }, { code: 1, stdout: 'gateway.yaml is not formatted; run gateway fmt\n' })
  t.equal(readFileSync(join(cwd, 'gateway.yaml'), 'utf8'), UNTIDY)
  t.equal((await run(['fmt', '--check', 'other.yaml'], { cwd })).code, 0)
})

t.test('fmt keeps what someone saves between its reading and its writing', async t => {
  const file = join(t.testdir({ 'gateway.yaml': UNTIDY }), 'gateway.yaml')
  const stderr = new PassThrough()
  const edits: string[] = []
  const io = {
    ...{ stdout: new PassThrough(), stdin: Object.assign(Readable.from([]), { isTTY: false }), env: {} },
    // It is asked for after the file was read, for the problems of its text.
    get stderr() {
      edits.push(`# edit ${edits.length}\n`)
      appendFileSync(file, edits.at(-1) ?? '')
      return stderr
    },
  }
  t.equal(await main(['fmt', file], io), 1)
  t.match(String(stderr.read()), /gateway\.yaml has changed meanwhile/)
  t.equal(readFileSync(file, 'utf8'), UNTIDY + edits.join(''))
})

t.test('fmt without a file takes gateway.yaml and what it includes', async t => {
  const main = UNTIDY.replace('version: 1\n', 'version: 1\ninclude: [more.yaml]\n')
  const cwd = t.testdir({ 'gateway.yaml': main, 'more.yaml': 'models:\n    third:   sim\n' })
  const { code, stdout } = await run(['fmt'], { cwd })
  t.equal(code, 0)
  t.strictSame(stdout.trim().split('\n').sort(), ['formatted gateway.yaml', 'formatted more.yaml'])
  t.equal(readFileSync(join(cwd, 'more.yaml'), 'utf8'), 'models:\n  third: sim\n')
})

t.test('fmt - formats standard input', async t => {
  t.match(await run(['fmt', '-'], { input: UNTIDY }), { code: 0, stdout: TIDY })
})

t.test('fmt leaves broken YAML as it is, and reports line and column', async t => {
  const cwd = t.testdir({ 'gateway.yaml': 'a: [1\nb: 2\n' })
  const { code, stderr } = await run(['fmt'], { cwd })
  t.equal(code, 1)
  t.match(stderr, 'gateway.yaml:1:4')
  t.equal((await run(['fmt', 'none.yaml'], { cwd })).code, 2)
})

t.test('fmt leaves files that are not UTF-8 as they are, and reports the byte', async t => {
  const cwd = t.testdir({ 'other.yaml': UNTIDY })
  const file = join(cwd, 'gateway.yaml')
  const bytes = Buffer.concat([Buffer.from('# caf'), Buffer.from([0xe9]), Buffer.from('\nversion:   1\n')])
  writeFileSync(file, bytes)
  const { code, stdout, stderr } = await run(['fmt', 'gateway.yaml', 'other.yaml'], { cwd })
  t.equal(code, 1)
  t.match(stderr, 'gateway.yaml:1:6  the byte 0xE9 is not UTF-8; save the file as UTF-8')
  t.equal(stdout, 'formatted other.yaml\n')
  t.same(readFileSync(file), bytes)
  const imported = await run(['import', 'litellm', 'gateway.yaml'], { cwd })
  t.equal(imported.code, 1)
  t.equal(imported.stdout, '')
  t.match(imported.stderr, 'the byte 0xE9 is not UTF-8')
})

t.test('fmt removes a byte order mark', async t => {
  const cwd = t.testdir({ 'gateway.yaml': `\ufeff${TIDY}` })
  t.match(await run(['fmt'], { cwd }), { code: 0, stdout: 'formatted gateway.yaml\n' })
  t.equal(readFileSync(join(cwd, 'gateway.yaml'), 'utf8'), TIDY)
})
