import t, { type Test } from 'tap'
import { openStore } from '../../src/runtime/stores.js'
import { Shelved } from '../../src/sinks/receipts/store.js'
import { run } from '../cli/bin.js'
import { startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { DURABLE, storeYaml } from '../helpers/store-kinds.js'

/** Receipts in each type of store: of several gateways and of one after the other, as the commands read them. */

t.setTimeout(120_000)

const ENV = {
  CALLER_KEY: 'caller-key-of-the-receipts-0123456789',
  RECEIPTS_KEY: 'the-key-of-captured-content-0123456789',
}
const ROUNDS = 2
const REQUESTS = 3

async function ask(gateway: TestGateway, text: string): Promise<string> {
  const body = { model: 'sim-text', messages: [{ role: 'user', content: text }] }
  const answer = await gateway.request('/v1/chat/completions', { key: ENV.CALLER_KEY, body })
  return answer.header('x-request-id') ?? ''
}

/** Serves some requests: their ids, and a folder in which commands find the configuration. */
async function serve(
  t: Test,
  yaml: string,
  gateways: number,
): Promise<{ readonly ids: readonly string[]; readonly folder: string }> {
  const started = await Promise.all(Array.from({ length: gateways }, () => startTestGateway(t, yaml, { env: ENV })))
  const asked = started.flatMap(one => Array.from({ length: REQUESTS }, (_, n) => ask(one, `Tell me of number ${n}.`)))
  const ids = await Promise.all(asked)
  for (const { gateway } of started) await gateway.close()
  return { ids, folder: started[0]?.folder ?? '' }
}

for (const kind of DURABLE) {
  t.test(
    `receipts are in the store, whole and in order, and a changed one is found: ${kind.type}`,
    { skip: kind.skip },
    async t => {
      const config = await kind.make(t)
      const yaml = `version: 1
store: ${storeYaml(config)}
keys: { caller: { secret: { env: CALLER_KEY }, models: ["*"], capture: { mask: [emails] } } }
receipts: { to: store, key: { env: RECEIPTS_KEY } }
prices: { "*": { input: 1, output: 2 } }
upstreams: { sim: { kind: simulator } }
models: { "sim-*": sim }
`
      // A process opens the store of files once.
      const gateways = kind.type === 'file' ? 1 : 2
      const served: Awaited<ReturnType<typeof serve>>[] = []
      for (let round = 0; round < ROUNDS; round++) served.push(await serve(t, yaml, gateways))
      const ids = served.flatMap(one => one.ids)
      const cli = (...args: string[]) => run(['receipts', ...args], { cwd: served[0]?.folder ?? '', env: ENV })
      const count = ROUNDS * gateways * REQUESTS
      t.match(await cli('verify'), { code: 0, stdout: `${count} receipts in ${ROUNDS * gateways} chains` })
      const listed = await cli('list')
      for (const id of ids) t.match(listed.stdout, id)
      const shown = await cli('show', ids[0] ?? '', '--content')
      t.match(shown, { code: 0, stdout: /Tell me of number/ })

      const store = await openStore(config)
      t.teardown(() => store.close())
      const [part] = await new Shelved(store).parts()
      const [record] = await store.list('receipts', `${part?.day}.${part?.chain}`, { order: 'ascending', limit: 1 })
      if (record === undefined) throw new Error('nothing was written')
      const text = Buffer.from(record.value).toString()
      await store.replace(record, { value: Buffer.from(text.replace('"status":200', '"status":201')) })
      const found = await cli('verify', '--json')
      t.equal(found.code, 1)
      t.match(JSON.parse(found.stdout), { isGood: false, faults: [{ fault: 'changed' }] })
    },
  )
}
