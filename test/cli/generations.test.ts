import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ADMIN_SECRET, adminLine } from '../helpers/admin.js'
import { sameAsGolden } from '../helpers/golden-file.js'
import { run, start } from './bin.js'
import { GOOD, TEST_KEY } from './files.js'

t.setTimeout(120_000)

const env = { TEST_KEY, NORTH_KEY: 'north', GATEWAY_ADMIN_KEY: ADMIN_SECRET }
const STORE = 'store: { type: file, path: ./data }\n'

for (const [title, words] of [
  ['one process', ''],
  ['two workers', `workers: 2\n${STORE}`],
] as const) {
  t.test(`${title}: gateway rollback serves an older generation until the file changes`, async t => {
    const { line, origin: admin } = await adminLine()
    const good = words === '' ? GOOD : GOOD.replace(/^store:.*\n/m, '')
    const file = `${good}${line}\n${words}`
    const cwd = t.testdir({ 'gateway.yaml': file })
    const gateway = start(t, ['serve', '--port', '0'], { cwd, env })
    await gateway.until(/listening on/)
    const [, origin = ''] = /listening on (\S+)/.exec(gateway.stdout) ?? []
    const replace = (text: string): void => {
      writeFileSync(join(cwd, 'new'), text)
      renameSync(join(cwd, 'new'), join(cwd, 'gateway.yaml'))
    }
    const served = async (): Promise<readonly string[]> => {
      const answer = await fetch(`${origin}/v1/models`, { headers: { authorization: `Bearer ${TEST_KEY}` } })
      return ((await answer.json()) as { data: { id: string }[] }).data.map(({ id }) => id)
    }

    const wider = file.replace('north-text: north', 'north-text: north\n  again: sim')
    replace(wider)
    await gateway.until(/"msg":"reloaded","generation":2/)
    t.ok((await served()).includes('again'))

    const back = await run(['rollback', '1'], { cwd, env })
    const missed = await run(['rollback', '77'], { cwd, env })
    const outcomes = [back, missed].map(
      one => `${one.stdout}--- standard error\n${one.stderr}--- exit status ${one.code}\n`,
    )
    sameAsGolden(t, 'rollback', outcomes.join(''))
    t.notOk((await served()).includes('again'))
    const listed = await run(['generations'], { cwd, env })
    sameAsGolden(t, 'generations', listed.stdout.replaceAll(/\d{4}-\d\d-\d\dT[\d:]+Z/g, '2026-01-01T00:00:00Z'))

    // The same text once more is read, and does not undo what a person has decided.
    replace(wider)
    const asked = await run(['generations', '--json'], { cwd, env })
    t.match(JSON.parse(asked.stdout)[0], { number: 3, serving: true, returnable: true })
    t.notOk((await served()).includes('again'))

    const planned = await run(['plan', admin, '--format', 'json'], { cwd, env })
    t.equal(planned.code, 0, planned.stderr)
    t.match(planned.stdout, /"again"/, 'what serves is compared, and not the file on the disk')
    const past = await fetch(`${admin}/admin/generations/1/file`, {
      headers: { authorization: `Bearer ${ADMIN_SECRET}` },
    })
    t.notMatch(((await past.json()) as { text: string }).text, 'again: sim')

    replace(`${wider}# mended\n`)
    await gateway.until(/"msg":"reloaded","generation":4/)
    t.ok((await served()).includes('again'))

    const north = ['POST', '/v1/chat/completions', '--model', 'again', '--key', 'local']
    const now = await run(['explain', ...north, '--at', '4'], { cwd, env })
    const then = await run(['explain', ...north, '--at', '1', '--admin', admin], { cwd, env })
    t.match([now.code, then.code], [0, 1], `${now.stderr}${then.stderr}`)
    t.match(then.stdout, /model_not_found/)
    t.match(await run(['explain', '--at', '77'], { cwd, env }), { code: 1, stderr: /no longer known/ })

    t.match(await run(['rollback', 'zero'], { cwd, env }), { code: 2, stderr: /expected the number of a generation/ })

    t.match(await run(['rollback', '1'], { cwd, env }), { code: 0 })
    t.match(await run(['reload'], { cwd, env }), { code: 0, stdout: 'generation 6 serves\n' })
    t.ok((await served()).includes('again'), 'a reload that someone asks for reads the file')
    gateway.child.kill('SIGTERM')
    t.equal((await gateway.ended).code, 0)
  })
}
