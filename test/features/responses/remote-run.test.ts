import { randomBytes } from 'node:crypto'
import t from 'tap'
import { ALONE, type PeerListener, type Peers } from '../../../src/core/peers.js'
import { EventShares } from '../../../src/features/responses/event-shares.js'
import { RemoteReaders } from '../../../src/features/responses/remote-readers.js'
import { RemoteRun } from '../../../src/features/responses/remote-run.js'
import { Run } from '../../../src/features/responses/run.js'
import type { OwnResponse } from '../../../src/features/responses/stored.js'

const RESPONSE = { id: 'resp_1', status: 'queued', output: [] }
const DRAFT: OwnResponse = {
  ...{ kind: 'own', id: 'resp_1', created: 1, model: 'm', previous: undefined, turns: 1, bytes: 100 },
  ...{ input: [], response: RESPONSE, background: true },
}
const OF = { owner: 'ann', id: 'resp_1' }

/** A run of one worker, and how another one asks for it. `lose`: so many answers never arrive. */
function stage(): { run: Run; peers: Peers; lose: (answers: number) => void } {
  const listeners = new Map<string, PeerListener<never, unknown>>()
  let lost = 0
  const peers: Peers = {
    ...ALONE,
    number: 2,
    on: ({ name }, listener) => void listeners.set(name, listener as PeerListener<never, unknown>),
    ask: async ({ name }, question) => {
      const listener = listeners.get(name)
      try {
        const answer = await listener?.(question as never, 1)
        return lost-- > 0 ? [] : [{ from: 1, answer: structuredClone(answer) as never }]
      } catch {
        return []
      }
    },
  }
  const run = new Run('ann', DRAFT, new EventShares(), () => undefined)
  run.head(200)
  new RemoteReaders(peers, (owner, id) => (owner === 'ann' && id === 'resp_1' ? run : undefined))
  return { run, peers, lose: answers => (lost = answers) }
}

function say(run: Run, number: number, chars: number): void {
  const delta = randomBytes(chars).toString('base64').slice(0, chars)
  const event = { type: 'response.output_text.delta', sequence_number: number, delta }
  run.data(Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`))
}

function finish(run: Run): void {
  run.data(Buffer.from(`event: response.completed\ndata: {"type":"response.completed","response":{"id":"x"}}\n\n`))
}

/** Reads to the end: the numbers of the events that came, and why no more did. */
function read(remote: RemoteRun, first: number): Promise<{ numbers: number[]; fault: string | undefined }> {
  return new Promise(resolve => {
    const numbers: number[] = []
    const follower = {
      next: first,
      more(): void {
        for (let frame = remote.event(follower.next); frame !== undefined; frame = remote.event(follower.next)) {
          numbers.push(Number(/"sequence_number":(\d+)/.exec(String(frame))?.[1] ?? -1))
          follower.next++
        }
        if (!remote.has() || (remote.ended && follower.next >= remote.next))
          resolve({ numbers, fault: remote.fault?.message })
      },
    }
    remote.follow(follower)
    follower.more()
  })
}

t.test('all events arrive once and in order, also those that the run has let go of meanwhile', async t => {
  const { run, peers } = stage()
  say(run, 0, 10)
  const remote = await RemoteRun.find(peers, RESPONSE, { ...OF, first: 0 })
  if (remote === undefined) throw new Error('it is there')
  const reading = read(remote, 0)
  // Far more than a run keeps, in one turn of the event loop.
  for (let n = 1; n < 40; n++) say(run, n, 60_000)
  finish(run)
  t.notOk(run.has(1))
  t.same(await reading, { numbers: [...Array(40).keys(), -1], fault: undefined })
})

t.test('an answer that is lost is asked for again', async t => {
  const { run, peers, lose } = stage()
  say(run, 0, 10)
  const remote = await RemoteRun.find(peers, RESPONSE, { ...OF, first: 0 })
  if (remote === undefined) throw new Error('it is there')
  say(run, 1, 10)
  finish(run)
  lose(1)
  t.same(await read(remote, 0), { numbers: [0, 1, -1], fault: undefined })
})

t.test('who cannot have all events learns why', async t => {
  const { run, peers, lose } = stage()
  t.equal(await RemoteRun.find(peers, RESPONSE, { ...OF, id: 'resp_2', first: 0 }), undefined, 'no worker makes it')
  say(run, 0, 10)
  const remote = await RemoteRun.find(peers, RESPONSE, { ...OF, first: 0 })
  if (remote === undefined) throw new Error('it is there')
  say(run, 1, 10)
  lose(3)
  t.match(await read(remote, 0), { numbers: [0], fault: /does not answer/ })
  const again = await RemoteRun.find(peers, RESPONSE, { ...OF, first: 1 })
  say(run, 2, 5_000_000)
  t.match(await read(again as RemoteRun, 1), { numbers: [1], fault: /too large/ })
  for (let n = 3; n < 40; n++) say(run, n, 60_000)
  t.equal(await RemoteRun.find(peers, RESPONSE, { ...OF, first: 0 }), undefined, 'the first ones are no longer kept')
})
