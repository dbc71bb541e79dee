import t from 'tap'
import { proveNoLeak } from '../helpers/canaries.js'
import type { Replay } from '../helpers/exchanges.js'
import { offsets, seeded } from '../helpers/random.js'
import { complaints, pieces, replaysOrNone, shortestOfEach, stage } from '../helpers/replay-stage.js'
import { sample } from '../helpers/sample.js'
import { whyUnclean } from '../helpers/unclean.js'

t.setTimeout(300_000)

const streams = (await replaysOrNone()).filter(({ stream, finished }) => stream && finished)

/** Of each list, played twice. */
const MAX_CUTS = 1000

interface Cut {
  readonly replay: Replay
  readonly at: number
}

/** Every byte of a short stream, the last 800 of a long one. */
function everyByte(replay: Replay): Cut[] {
  const { length } = replay.body
  const first = length < 2500 ? 0 : length - 800
  return Array.from({ length: length - first }, (_, i) => ({ replay, at: first + i }))
}

/** A few points anywhere, and the last twelve. */
function somePoints(replay: Replay, index: number): Cut[] {
  const { length } = replay.body
  const last = Array.from({ length: 12 }, (_, i) => length - 1 - i)
  return [...offsets(seeded(index), 6, length), ...last].map(at => ({ replay, at }))
}

const CUTS = [
  ['the shortest of each protocol, at every byte', shortestOfEach(streams).flatMap(everyByte)],
  ['all of them, at some points', streams.flatMap(somePoints)],
] as const

for (const [title, corpus] of CUTS) {
  const cuts = sample(`cuts of recorded streams, ${title}`, corpus, MAX_CUTS)
  for (const [how, end] of [
    ['a connection that ends', 'fin'],
    ['a transfer that ends well', 'chunk'],
  ] as const) {
    t.test(`streams cut by ${how} never look whole: ${title}`, { skip: cuts.length === 0 }, async t => {
      const { play } = await stage(t)
      const found = await complaints(cuts, async ({ replay, at }) => {
        const answer = await play(replay, pieces(replay, [replay.body.subarray(0, at)], end))
        const why = whyUnclean(answer, replay, end)
        return why === undefined ? undefined : `${replay.name} cut at ${at} of ${replay.body.length}: ${why}`
      })
      t.same(found, [])
    })
  }
}

proveNoLeak(t)
