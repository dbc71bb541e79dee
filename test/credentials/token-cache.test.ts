import t from 'tap'
import { type Fetched, TokenCache } from '../../src/credentials/token-cache.js'
import { CredentialFault } from '../../src/net/signer.js'
import { withResolvers } from '../helpers/journal.js'

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000

/** A token server whose answers a test gives, and a clock that it sets. */
class Server {
  now = 1_800_000_000_000
  asked = 0
  #waiting = withResolvers<Fetched<string>>()
  readonly cache = new TokenCache<string>(
    () => {
      this.asked += 1
      return this.#waiting.promise
    },
    () => this.now,
  )

  async answer(value: string, lifeMs: number): Promise<void> {
    const { resolve } = this.#waiting
    this.#waiting = withResolvers()
    resolve({ value, expires: this.now + lifeMs })
    await new Promise(setImmediate)
  }

  async refuse(message: string): Promise<void> {
    const { reject } = this.#waiting
    this.#waiting = withResolvers()
    reject(new CredentialFault(message))
    await new Promise(setImmediate)
  }
}

t.test('a token is fetched once for all who wait, and kept without asking', async t => {
  const server = new Server()
  const waiting = [server.cache.get(), server.cache.get(), server.cache.get()]
  t.equal(server.asked, 1)
  await server.answer('one', HOUR_MS)
  t.same(await Promise.all(waiting), ['one', 'one', 'one'])
  server.now += HOUR_MS - 5 * MINUTE_MS - 1
  t.equal(server.cache.get(), 'one', 'at once, until five minutes before its end')
  t.equal(server.asked, 1)
})

t.test('it is fetched ahead of its end, once, while the old one serves', async t => {
  for (const [lifeMs, aheadMs] of [
    [HOUR_MS, 5 * MINUTE_MS],
    [10 * MINUTE_MS, 2 * MINUTE_MS],
  ] as const) {
    const server = new Server()
    const first = server.cache.get()
    await server.answer('one', lifeMs)
    await first
    server.now += lifeMs - aheadMs
    t.equal(server.cache.get(), 'one')
    t.equal(server.cache.get(), 'one', 'no one waits')
    t.equal(server.asked, 2)
    await server.answer('two', lifeMs)
    t.equal(server.cache.get(), 'two')
    t.equal(server.asked, 2)
  }
})

t.test('while its server is away it serves to its end, asked for in pauses that double', async t => {
  const server = new Server()
  const faults: (string | undefined)[] = []
  server.cache.onChange = fault => faults.push(fault?.message)
  const first = server.cache.get()
  await server.answer('one', 10 * MINUTE_MS)
  await first
  server.now += 8 * MINUTE_MS
  const pausesMs = [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]
  for (const [at, pauseMs] of pausesMs.entries()) {
    t.equal(server.cache.get(), 'one')
    t.equal(server.asked, 2 + at)
    await server.refuse('away')
    server.now += pauseMs - 1
    t.equal(server.cache.get(), 'one', 'in the pause')
    t.equal(server.asked, 2 + at, 'no one is asked')
    server.now += 1
  }
  t.same(faults, ['away'], 'reported once')
  t.equal(server.cache.fault?.message, 'away')
  server.now += MINUTE_MS
  const late = t.rejects(Promise.resolve(server.cache.get()), { message: 'still away' }, 'it has ended')
  await server.refuse('still away')
  await late
  await t.rejects(Promise.resolve(server.cache.get()), { message: 'still away' }, 'at once in the pause')
  server.now += 30_000
  const back = server.cache.get()
  await server.answer('two', HOUR_MS)
  t.equal(await back, 'two')
  t.same(faults, ['away', undefined])
})

t.test('one that the upstream refuses is renewed, once in ten seconds for all who ask', async t => {
  const server = new Server()
  const first = server.cache.get()
  await server.answer('one', HOUR_MS)
  await first
  const renewing = [server.cache.renew('one'), server.cache.renew('one')]
  await server.answer('two', HOUR_MS)
  t.same(await Promise.all(renewing), [true, true])
  t.equal(server.asked, 2)
  t.equal(server.cache.get(), 'two')
  t.equal(await server.cache.renew('one'), true, 'what is refused later was sent before: the next one is at hand')
  t.equal(await server.cache.renew('two'), false, 'a moment ago')
  t.equal(server.asked, 2)
  server.now += 10_000
  const again = server.cache.renew('two')
  await server.answer('three', HOUR_MS)
  t.equal(await again, true)
})

t.test('a server that gives the same one again has none to send the request again with', async t => {
  const server = new Server()
  const first = server.cache.get()
  await server.answer('one', HOUR_MS)
  await first
  const renewing = server.cache.renew('one')
  await server.answer('one', HOUR_MS)
  t.equal(await renewing, false)
})

t.test('one that has ended already is a fault', async t => {
  const server = new Server()
  const first = t.rejects(Promise.resolve(server.cache.get()), /has already expired: check the clocks/)
  await server.answer('one', 1000)
  await first
})
