import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { openStore } from '../../src/runtime/stores.js'
import { CALLER, startTestGateway } from '../helpers/gateway.js'

const record = { namespace: 'things', owner: 'ann', key: 'a', created: 1, value: Buffer.from('x') }

t.test('a file store is there again after a restart, a memory store is empty', async t => {
  const path = mkdtempSync(join(tmpdir(), 'gateway-store-'))
  t.teardown(() => rmSync(path, { recursive: true, force: true }))
  for (const type of ['file', 'memory'] as const) {
    const first = await openStore({ type, path })
    await first.create({ ...record, expires: Date.now() + 60_000 })
    await first.close()
    const second = await openStore({ type, path })
    const found = await second.get('things', 'ann', 'a')
    t.equal(found !== undefined, type === 'file', type)
    await second.close()
  }
})

t.test('a store that cannot be opened ends the start with one line of advice', async t => {
  const path = mkdtempSync(join(tmpdir(), 'gateway-store-'))
  t.teardown(() => rmSync(path, { recursive: true, force: true }))
  writeFileSync(join(path, 'taken'), '')
  const error = await openStore({ type: 'file', path: join(path, 'taken') }).catch((cause: unknown) => cause)
  t.match(error, {
    name: 'StartError',
    message: /taken\/store cannot be used \((ENOTDIR|EEXIST)\); choose another folder/,
  })
  const yaml = `version: 1\n${CALLER}\nupstreams: {}\nmodels: {}\nstore: { path: ${join(path, 'taken')} }\n`
  await t.rejects(startTestGateway(t, yaml), { name: 'StartError' })
})

t.test('a reload keeps the store, and reports that another one needs a restart', async t => {
  const yaml = (path: string): string => `version: 1\n${CALLER}\nupstreams: {}\nmodels: {}\nstore: { path: ${path} }\n`
  const { gateway, write, log } = await startTestGateway(t, yaml('./one'))
  await write('gateway.yaml', yaml('./two'))
  await gateway.reload()
  t.same(gateway.health.restart, ['store'])
  await log.find(line => line.msg === 'needs a restart to take effect')
})
