import { chmodSync, chownSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ADMIN_SECRET, adminLine, adminOf } from '../helpers/admin.js'
import { run, start } from './bin.js'
import { GOOD, TEST_KEY } from './files.js'

t.setTimeout(180_000)

const env = { TEST_KEY, NORTH_KEY: 'north', GATEWAY_ADMIN_KEY: ADMIN_SECRET }

interface Listed {
  readonly number: number
  readonly digest: string
  readonly returnable: boolean
}

const INCLUDE = 'include: [models/*.yaml, "shipped:transcripts"]\n'

for (const [title, words, source, folder] of [
  ['included files', INCLUDE, 'gateway.yaml', 'models'],
  ['included files and two workers', `${INCLUDE}workers: 2\n`, 'gateway.yaml', 'models'],
  ['files of a folder', '', 'conf.d', 'conf.d'],
] as const) {
  t.test(`${title}: an older generation is all that they said`, async t => {
    const { line, origin: admin } = await adminLine()
    const main = `${GOOD}${line}\n${words}`
    const models = { '20-a.yaml': 'models: { first: sim }\n' }
    const cwd = t.testdir(
      source === folder ? { [source]: { '10-main.yaml': main, ...models } } : { [source]: main, [folder]: models },
    )
    const write = (name: string, text: string): void => {
      writeFileSync(join(cwd, folder, `${name}.new`), text)
      renameSync(join(cwd, folder, `${name}.new`), join(cwd, folder, name))
    }
    const gateway = start(t, ['serve', source, '--port', '0'], { cwd, env })
    await gateway.until(/listening on/)
    const [, origin = ''] = /listening on (\S+)/.exec(gateway.stdout) ?? []
    const served = async (): Promise<readonly string[]> => {
      const answer = await fetch(`${origin}/v1/models`, { headers: { authorization: `Bearer ${TEST_KEY}` } })
      return ((await answer.json()) as { data: { id: string }[] }).data.map(({ id }) => id).sort()
    }
    const [before, renamed] = [
      ['first', 'north-text', 'sim-text'],
      ['north-text', 'renamed', 'sim-text'],
    ]
    t.same(await served(), before)

    write('20-a.yaml', 'models: { renamed: sim }\n')
    await gateway.until(/"msg":"reloaded","generation":2/)
    // Generation 1 does not have this file.
    write('30-b.yaml', 'models: { second: sim }\n')
    await gateway.until(/"msg":"reloaded","generation":3/)

    const ask = adminOf(t, admin)
    const back = async (generation: number): Promise<void> => {
      const answer = await ask('POST', '/admin/rollback', { generation })
      t.equal(answer.status, 200, answer.body.toString())
    }
    await back(1)
    t.same(await served(), before)
    const listed = (await ask('GET', '/admin/generations')).json().data as unknown as readonly Listed[]
    t.same(
      listed.map(({ number, returnable }) => [number, returnable]),
      [4, 3, 2, 1].map(number => [number, true]),
    )
    t.equal(listed[0]?.digest, listed[3]?.digest, 'nothing of it is as it is now')
    t.notMatch(gateway.stderr, /have changed since that generation/)

    const planned = await run(['plan', admin, '--file', source, '--format', 'json'], { cwd, env })
    t.equal(planned.code, 0, planned.stderr)
    for (const name of ['"first"', '"renamed"', '"second"']) t.ok(planned.stdout.includes(name), name)
    const explained = async (model: string, at: string): Promise<number | null> => {
      const request = ['POST', '/v1/chat/completions', '--model', model, '--key', 'local']
      return (await run(['explain', ...request, '--file', source, '--at', at], { cwd, env })).code
    }
    t.same([await explained('first', '1'), await explained('second', '2')], [0, 1])

    await back(2)
    t.same(await served(), renamed)
    // A file that is there now is followed, also if what serves does not have it.
    write('30-b.yaml', 'models: { third: sim }\n')
    await gateway.until(/"msg":"reloaded","generation":6/)
    t.same(await served(), [...renamed, 'third'].sort())

    write('40-c.yaml', '# password: hunter2\nmodels: { fourth: sim }\n')
    await gateway.until(/"msg":"reloaded","generation":7/)
    const hidden = await run(['explain', '--file', source, '--at', '7'], { cwd, env })
    t.match(hidden, { code: 1, stderr: /its file \S+40-c\.yaml has secrets in plain text/ })
    t.notMatch(hidden.stderr, /hunter2/)
    gateway.child.kill('SIGTERM')
    t.equal((await gateway.ended).code, 0)
  })
}

for (const [title, words] of [
  ['one process', ''],
  ['two workers', 'workers: 2\n'],
] as const) {
  t.test(`${title}: the console writes all files as they were at a generation, or none`, async t => {
    const { line, origin: admin } = await adminLine(', write: true')
    const main = `${GOOD}${line}\ninclude: [models/*.yaml, "shipped:transcripts"]\n${words}`
    const [first, gone] = ['models: { first: sim }\n', 'models: { gone: sim }\n']
    const cwd = t.testdir({ 'gateway.yaml': main, models: { '20-a.yaml': first, '25-gone.yaml': gone } })
    const at = (name: string): string => join(cwd, name)
    const gateway = start(t, ['serve', '--port', '0'], { cwd, env })
    await gateway.until(/listening on/)
    const ask = adminOf(t, admin)
    const reload = async (): Promise<void> => void t.equal((await ask('POST', '/admin/reload')).status, 200)
    const backTo = async (generation: number) => {
      const { digest } = (await ask('GET', '/admin/plan/file')).json() as unknown as { readonly digest: string }
      return await ask('POST', '/admin/plan/apply', { generation, digest })
    }
    const models = async (): Promise<string> => (await ask('GET', '/admin/config?section=models')).body.toString()

    writeFileSync(at('gateway.yaml'), `${main}# edited\n`)
    writeFileSync(at('models/20-a.yaml'), 'models: { renamed: sim }\n')
    rmSync(at('models/25-gone.yaml'))
    await reload()
    t.match(await models(), '"renamed"')

    const past = JSON.parse((await ask('GET', '/admin/generations/1/file')).body.toString()) as {
      readonly included: readonly { readonly name: string }[]
    }
    t.same(
      past.included.map(({ name }) => name),
      ['models/20-a.yaml', 'models/25-gone.yaml', 'shipped:routes/more/transcripts.yaml'],
    )
    const done = await backTo(1)
    t.equal(done.status, 200, done.body.toString())
    t.equal(readFileSync(at('gateway.yaml'), 'utf8'), main)
    t.equal(readFileSync(at('models/20-a.yaml'), 'utf8'), first)
    t.equal(readFileSync(at('models/25-gone.yaml'), 'utf8'), gone)
    t.match(await models(), /"first".*"gone"/s)
    t.notMatch(await models(), '"renamed"')

    writeFileSync(at('models/20-a.yaml'), 'models: { renamed: sim }\n')
    writeFileSync(at('models/30-later.yaml'), 'models: { later: sim }\n')
    await reload()
    const refused = await backTo(1)
    t.match(
      [refused.status, refused.json().error.message],
      [409, /^models\/30-later\.yaml: not a file of generation 1/],
    )
    t.equal(readFileSync(at('models/20-a.yaml'), 'utf8'), 'models: { renamed: sim }\n', 'nothing is written')

    rmSync(at('models/30-later.yaml'))
    rmSync(at('models/25-gone.yaml'))
    await reload()
    t.equal((await ask('POST', '/admin/plan/apply', { generation: 1, digest: 'another' })).status, 409)
    t.equal(existsSync(at('models/25-gone.yaml')), false)
    gateway.child.kill('SIGTERM')
    t.equal((await gateway.ended).code, 0)
  })
}

/** A user who is not root. */
const NOBODY = 65_534

t.test('a file that cannot be written leaves all as they were, and the gateway serves what they say', async t => {
  if (process.getuid?.() !== 0) return void t.comment('SKIPPED: another user takes the rights of root')
  const { code } = await run(['--version'], { cwd: '/', user: NOBODY })
  if (code !== 0) return void t.comment('SKIPPED: only its owner may read the folder that the gateway is in')
  const { line, origin: admin } = await adminLine(', write: true')
  const main = `${GOOD}${line}\ninclude: [models/*.yaml, open/*.yaml]\n`
  const [first, second] = ['models: { first: sim }\n', 'models: { second: sim }\n']
  const cwd = t.testdir({ 'gateway.yaml': main, models: { 'a.yaml': first }, open: { 'b.yaml': second }, data: {} })
  for (const name of ['', 'gateway.yaml', 'data']) chownSync(join(cwd, name), NOBODY, NOBODY)
  const gateway = start(t, ['serve', '--port', '0'], { cwd, env, user: NOBODY })
  await gateway.until(/listening on/)
  const ask = adminOf(t, admin)
  const texts = (): readonly string[] =>
    ['gateway.yaml', 'models/a.yaml', 'open/b.yaml'].map(name => readFileSync(join(cwd, name), 'utf8'))
  const names = (): readonly string[] => ['.', 'models', 'open'].flatMap(name => readdirSync(join(cwd, name)))
  const [laterMain, later] = [`${main}# edited\n`, 'models: { renamed: sim }\n']
  const refused = async (said: RegExp): Promise<void> => {
    const [before, listed] = [texts(), names()]
    const { digest } = (await ask('GET', '/admin/plan/file')).json() as unknown as { readonly digest: string }
    const answer = await ask('POST', '/admin/plan/apply', { generation: 1, digest })
    t.equal(answer.status, 500)
    t.match(answer.json().error, { type: 'not_written', message: said })
    t.same([texts(), names()], [before, listed])
    t.match((await ask('GET', '/admin/config?section=models')).body.toString(), '"renamed"')
  }

  writeFileSync(join(cwd, 'gateway.yaml'), laterMain)
  writeFileSync(join(cwd, 'models/a.yaml'), later)
  t.equal((await ask('POST', '/admin/reload')).status, 200)
  await refused(/models\/a\.yaml cannot be written \(EACCES\); all files are as they were$/)

  // Where this bit is set, anyone makes files, and no one takes the name of another's: the first file has changed by then.
  chmodSync(join(cwd, 'models'), 0o1777)
  await refused(/models\/a\.yaml cannot be written \(EPERM\); all files are as they were$/)
  gateway.child.kill('SIGTERM')
  t.equal((await gateway.ended).code, 0)
})
