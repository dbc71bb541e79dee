import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { CHAT_ANSWER } from '../helpers/answers.js'
import { startHoldingUpstream, until, WorkingGateway, workersYaml } from '../helpers/workers.js'

t.setTimeout(180_000)

interface Listed {
  readonly number: number
  readonly serving: boolean
  readonly canary?: {
    readonly state: string
    readonly new: { readonly requests: number }
    readonly old: { readonly requests: number }
  }
}

/** An upstream that fails every tenth request while `isBad`. */
async function startFailing(t: { teardown(run: () => void): void }) {
  const upstream = { origin: '', received: 0, isBad: true }
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const isBad = ++upstream.received % 10 === 0 && upstream.isBad
      response.writeHead(isBad ? 500 : 200, { 'content-type': 'application/json' }).end(JSON.stringify(CHAT_ANSWER))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  upstream.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return upstream
}

t.test('with two workers the supervisor compares what both have counted, and both go back or whole', async t => {
  const [old, fresh] = [await startHoldingUpstream(t), await startFailing(t)]
  const reload = (time: string): string => `reload: { canary: 30%, for: ${time} }\nhealth: off\n`
  const gateway = await WorkingGateway.start(t, workersYaml(old, reload('1h')))
  const all = async (): Promise<readonly Listed[]> =>
    (await gateway.admin<{ data: readonly Listed[] }>('GET', '/admin/generations')).data
  const logged = (message: string): number => gateway.logged(message).length
  const ask = async (message: string): Promise<void> => {
    const before = logged(message)
    for (let asked = 0; logged(message) === before && asked < 4000; asked += 8)
      await Promise.all(Array.from({ length: 8 }, () => gateway.chat()))
    t.ok(logged(message) > before, message)
  }

  gateway.write(workersYaml(fresh, reload('1h')))
  await until(() => logged('a canary of the configuration has begun') === 1)
  await Promise.all(Array.from({ length: 60 }, () => gateway.chat()))
  t.ok(Math.abs(fresh.received - 18) <= 2, `${fresh.received} of 60 requests, 30 % of what each worker gets`)
  await ask('the new configuration went back')
  t.match((await all())[0], { number: 2, serving: false, canary: { state: 'back' } })
  const { received } = fresh
  await Promise.all(Array.from({ length: 30 }, () => gateway.chat()))
  t.equal(fresh.received, received, 'no worker asks the new upstream any more')

  fresh.isBad = false
  gateway.write(workersYaml(fresh, `${reload('2s')}# mended\n`))
  await until(() => logged('a canary of the configuration has begun') === 2)
  // A worker that begins meanwhile tries it, too.
  const [first] = await gateway.workers()
  process.kill(first?.pid ?? 0, 'SIGKILL')
  await ask('reloaded')
  await until(async () => {
    const workers = await gateway.workers()
    return workers.length === 2 && workers.every(({ generation }) => generation === 3)
  })
  const [three] = await all()
  t.match(three, { number: 3, serving: true, canary: { state: 'whole' } })
  const { received: others } = old
  await Promise.all(Array.from({ length: 20 }, () => gateway.chat()))
  t.equal(old.received, others)
})
