import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { EventLoopShares, type Worker } from '../../src/kernel/event-loop-shares.js'
import { body, chatEvent, stream } from '../helpers/answers.js'
import { CHAT, oneUpstream, startTestGateway } from '../helpers/gateway.js'
import { seeded } from '../helpers/random.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'

// Answers that are relayed as they are take turns, too: an upstream that pushes faster than its client's connection is
// written holds up no one else. Here turns are refused by chance, and every answer comes whole and in order.

const SEED = Number(process.env.SAMPLE_SEED ?? Date.now() % 100_000)

interface Refused {
  taken: number
  refused: number
  /** The next take waits: an answer of few reads might be spared by chance. */
  isNextRefused: boolean
}

/** Lets every other take of a turn wait until the next one. */
function refuseTurns(test: Test, seed: number): Refused {
  const { tryRun: take } = EventLoopShares.prototype
  const random = seeded(seed)
  const told: Refused = { taken: 0, refused: 0, isNextRefused: false }
  test.teardown(() => {
    EventLoopShares.prototype.tryRun = take
  })
  EventLoopShares.prototype.tryRun = function (this: EventLoopShares, worker: Worker, bytes: number): boolean {
    if (random() < 0.5 && !told.isNextRefused) {
      told.taken++
      return take.call(this, worker, bytes)
    }
    told.isNextRefused = false
    told.refused++
    setImmediate(() => worker.turn())
    return false
  }
  return told
}

t.test('relayed answers wait for their turns, and lose nothing', async t => {
  t.comment(`seed ${SEED}`)
  const told = refuseTurns(t, SEED)
  const upstream = await startRawUpstream(t)
  const gateway = await startTestGateway(t, oneUpstream(upstream.origin))
  const words = randomBytes(300_000).toString('base64')
  const answers = [
    stream([...words.match(/.{1,997}/g)!].map(chatEvent).concat('data: [DONE]\n\n')),
    body(JSON.stringify({ id: 'c', choices: [{ index: 0, message: { role: 'assistant', content: words } }] })),
  ]
  for (const [index, script] of answers.entries()) {
    const before = told.refused
    told.isNextRefused = true
    upstream.answer(script)
    const answer = await gateway.chat({ ...CHAT, stream: index === 0 })
    t.equal(answer.status, 200)
    const said = index === 0 ? saidIn(answer.text) : answer.text
    t.ok(said.includes(words), 'each byte is there, in order')
    t.ok(told.refused > before, `${told.refused - before} waits for a turn`)
  }
})

/** The text of all events. */
function saidIn(events: string): string {
  const data = events.split('\n\n').filter(one => one.startsWith('data: {'))
  return data.map(one => JSON.parse(one.slice(6)).choices[0]?.delta?.content ?? '').join('')
}
