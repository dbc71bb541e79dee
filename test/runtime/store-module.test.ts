import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { draft } from '../../src/contracts/store-stage.js'
import { openModule } from '../../src/runtime/store-module.js'
import { openStore, UNHEARD } from '../../src/runtime/stores.js'
import { storeContract } from '../contracts/store.js'
import { CALLER, startTestGateway } from '../helpers/gateway.js'

const MODULE = fileURLToPath(new URL('../stores/my-store.js', import.meta.url))

t.test('a store that a file brings keeps the contract', async t => {
  storeContract(t, (test, clock) => {
    const opened = openModule({ module: MODULE, options: {} }, UNHEARD, () => clock.now)
    test.teardown(async () => (await opened).close())
    return () => opened
  })
})

t.test('a module gets its options and is logged, and a gateway serves with it', async t => {
  const yaml = `version: 1\n${CALLER}\nupstreams: {}\nmodels: {}\nstore: { type: "${MODULE}", options: { records: 1, advice: true } }\n`
  const { log } = await startTestGateway(t, yaml)
  await log.find(line => line.store === 'it is small')
  const store = await openStore({ type: 'module', path: '/nowhere', module: MODULE, options: { records: 1 } })
  const later = { created: Date.now(), expires: Date.now() + 60_000 }
  await store.create(draft('a', later))
  await store.create(draft('b', later))
  t.equal(await store.get('things', 'ann', 'a'), undefined)
})

t.test('an invalid module is reported in one line', async t => {
  const folder = t.testdir({
    'empty.mjs': 'export const nothing = 1\n',
    'broken.mjs': 'export function openStore(\n',
    'throws.mjs': 'export const openStore = () => { throw new Error("no table") }\n',
    'rejects.mjs': 'export const openStore = async () => { throw "no server" }\n',
    'half.mjs': 'export const openStore = () => ({ create() {}, accounts: {} })\n',
  })
  const messages = {
    'empty.mjs': /exports no function openStore/,
    'broken.mjs': /cannot be loaded \(/,
    'throws.mjs': /throws\.mjs cannot be opened \(no table\)/,
    'rejects.mjs': /rejects\.mjs cannot be opened \(no server\)/,
    'half.mjs': /has no get, replace, .*accounts\.commit/,
    'missing.mjs': /cannot be loaded \(Cannot find module/,
  }
  for (const [name, message] of Object.entries(messages)) {
    const open = openStore({ type: 'module', path: folder, module: join(folder, name), options: {} })
    await t.rejects(open, { name: 'StartError', message }, name)
  }
})
