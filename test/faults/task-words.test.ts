import t from 'tap'
import { canary, proveNoLeak } from '../helpers/canaries.js'
import { CALLER, startTestGateway } from '../helpers/gateway.js'
import { startTaskUpstream, type TaskScript } from '../helpers/task-upstream.js'

// What upstreams say of tasks reaches clients in records, and never with a credential or an address in it.

const SECRET = canary('upstream')

/** Says of each task what `more` has, with the upstream's own address and credential in it. */
const teller =
  (atOnce: boolean, more: (words: string) => object): TaskScript =>
  ({ method, headers }, { origin }) => {
    const key = String(headers.authorization).slice('Bearer '.length)
    const words = `worker ${origin}/run?token=abcdefgh refused ${key}, sk-0123456789abcdef, https://me:pw@db.internal/`
    if (method === 'POST' && !atOnce) return { body: { id: 'up-1', status: 'queued' } }
    return { body: { id: 'up-1', ...more(words) } }
  }

for (const atOnce of [false, true]) {
  t.test(`the reason of a failed task shows no credentials, ${atOnce ? 'at once' : 'after a poll'}`, async t => {
    const failing = (words: string): object => ({
      status: 'failed',
      error: { code: `E ${words}`.slice(0, 128), message: words },
      note: { why: words },
    })
    const upstream = await startTaskUpstream(t, teller(atOnce, failing))
    const yaml = `version: 1
${CALLER}
store: { type: memory }
upstreams:
  up:
    { kind: openai, base: "${upstream.origin}", secret: { env: UPSTREAM_KEY }, tasks: { poll: { every: 10ms }, fields: { note: note } } }
models: { film: up }
routes:
  POST /v1/clips: { protocol: videos, model: body.model, task: { kind: media } }
  GET /v1/clips/{id}: { task: { kind: media, action: retrieve } }
`
    const gateway = await startTestGateway(t, yaml, { env: { UPSTREAM_KEY: SECRET } })
    for (const path of ['/v1/videos', '/v1/clips']) {
      const begun = await gateway.request(path, { body: { model: 'film', prompt: 'A cat' } })
      const { id } = begun.json() as { id: string }
      await gateway.log.find(line => line.msg === 'task changed' && line.task === id && line.to === 'failed')
      const { text } = await gateway.request(`${path}/${id}`, { method: 'GET' })
      t.match(JSON.parse(text), { status: 'failed', error: { code: /^E worker/, message: /^worker .* refused / } })
      for (const hidden of [SECRET, new URL(upstream.origin).host, 'abcdefgh', 'sk-0123456789abcdef', 'me:pw'])
        t.notOk(text.includes(hidden), hidden)
    }
  })
}

proveNoLeak(t)
