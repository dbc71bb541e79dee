import t from 'tap'
import { CALLER_SECRET, Lives } from '../helpers/lives.js'
import { DURABLE, storeYaml } from '../helpers/store-kinds.js'
import { watchWrites } from '../helpers/store-writes.js'
import { compatible, filmYaml, held, startTaskUpstream } from '../helpers/task-upstream.js'

// A process that is killed while it submits: when its lease is over, a client's key for the request is free, or leads to what
// came of it, however long the upstream may take to answer.

t.setTimeout(180_000)
t.jobs = 3

/** Upstreams may think for minutes; a second request with a key waits for 20 s, a lease is over long before. */
const SETTINGS = 'tasks: { lease: 2s, wait: 20s }\ntimeouts: { connect: 60s, first_byte: 300s }\n'

for (const kind of DURABLE) {
  t.test(`a key is decided when the lease is over (${kind.type})`, { skip: kind.skip, buffered: true }, async t => {
    const watched = await watchWrites(t, storeYaml(await kind.make(t)))
    const { script, asked } = held(compatible({ status: 'running' }), (_, self) => self.submits.length === 1)
    const upstream = await startTaskUpstream(t, script)
    const yaml = filmYaml(upstream.origin, undefined, SETTINGS)
      .replace('store: { type: memory }', `listen: { port: 0 }\nstore: ${watched.store}`)
      .replace(/\n {2}other:.*/, '')
    const lives = new Lives(t, yaml)
    const submit = async (prompt: string): Promise<Response | undefined> => {
      const headers = {
        authorization: `Bearer ${CALLER_SECRET}`,
        'content-type': 'application/json',
        'idempotency-key': prompt,
      }
      const body = JSON.stringify({ model: 'film', prompt })
      return await fetch(`${lives.origin}/v1/videos`, { method: 'POST', headers, body }).catch(() => undefined)
    }

    await lives.begin()
    const cat = submit('A cat')
    await asked
    // A write of a file cannot be cut off.
    const cuts = kind.type !== 'file'
    const dog = cuts ? [watched.at('A dog', { n: 2, how: 'cut' }), submit('A dog')] : []
    await dog[0]
    await lives.kill()
    t.same(await Promise.all([cat, ...dog]), [undefined, ...dog.map(() => undefined)])
    await lives.begin()

    const [catAgain, dogAgain] = await Promise.all([submit('A cat'), cuts ? submit('A dog') : undefined])
    t.equal(catAgain?.status, 200)
    t.match(await catAgain?.json(), { status: 'failed', error: { code: 'submit_unconfirmed' } })
    if (cuts) {
      t.equal(dogAgain?.status, 200)
      t.match(await dogAgain?.json(), { status: /queued|in_progress/, error: null })
    }
    const prompts = upstream.submits.map(request => request.json().prompt)
    t.same(prompts, ['A cat', ...(cuts ? ['A dog'] : [])], 'the upstream is asked once for each')
  })
}
