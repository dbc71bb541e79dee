import t from 'tap'
import { CALLER_SECRET, Lives } from '../helpers/lives.js'
import { EVERY, storesOf } from '../helpers/store-kinds.js'

// Ready means usable: anyone who sends many requests at once to a gateway that has just said so, while it still warms up, is
// served, and what it asked to keep is kept.

t.setTimeout(120_000)

/** Requests at once, and how often the gateway starts. */
const REQUESTS = 60
const STARTS = Number(process.env.STARTS ?? 1)

for (const kind of EVERY) {
  const store = storesOf(t, kind)
  t.test(
    `F-S2 a gateway that is ready serves ${REQUESTS} requests at once (${kind.type})`,
    { skip: kind.skip },
    async t => {
      // The default patience of each store, not that of other tests.
      const yaml = (await store(t)).replace(/, (timeout|wait): \d+ms/g, '')
      const lives = new Lives(
        t,
        `version: 1
listen: { port: 0 }
store: ${yaml}
keys: { caller: { secret: { env: CALLER_KEY } } }
upstreams: { sim: { kind: simulator } }
models: { "sim-*": sim }
`,
      )
      for (let start = 0; start < STARTS; start++) {
        await lives.begin()
        const ready = (await (await fetch(`${lives.origin}/readyz`)).json()) as { status: string; store: object }
        t.match(ready, { status: 'ready', store: { type: kind.type, usable: true } })
        const ask = async (n: number): Promise<string> => {
          const [path, body] =
            n % 3 === 0
              ? ['/v1/videos', { model: 'sim-video', prompt: `${n}` }]
              : ['/v1/responses', { model: 'sim-text', input: `${n}` }]
          const headers = { authorization: `Bearer ${CALLER_SECRET}`, 'content-type': 'application/json' }
          const answer = await fetch(`${lives.origin}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
          const json = (await answer.json()) as { store?: boolean }
          return answer.status === 200 && json.store !== false ? 'served' : `${answer.status} ${JSON.stringify(json)}`
        }
        const answers = await Promise.all(Array.from({ length: REQUESTS }, (_, n) => ask(n)))
        t.same([...new Set(answers)], ['served'])
        await lives.kill()
      }
      t.notMatch(lives.log, /the store cannot be used|could not be stored/)
    },
  )
}
