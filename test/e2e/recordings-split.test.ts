import t from 'tap'
import { proveNoLeak } from '../helpers/canaries.js'
import { cut } from '../helpers/http-bytes.js'
import { offsets, seeded } from '../helpers/random.js'
import { complaints, expected, pieces, replaysOrNone, shortestOfEach, stage } from '../helpers/replay-stage.js'
import { sample } from '../helpers/sample.js'

t.setTimeout(300_000)

const MAX_STREAMS = 300
const MAX_SPLITS = 800

const streams = (await replaysOrNone()).filter(({ stream, finished }) => stream && finished)

t.test('streams arrive the same wherever their bytes are split', { skip: streams.length === 0 }, async t => {
  const { play } = await stage(t)
  const found = await complaints(sample('recorded streams split', streams, MAX_STREAMS), async (replay, index) => {
    const { length } = replay.body
    const splits = [1, 7, 60].map(count => offsets(seeded(index + count), count, length))
    if (length < 3000) splits.push(Array.from(replay.body.keys()))
    for (const at of splits) {
      const answer = await play(replay, pieces(replay, cut(replay.body, at)))
      if (!answer?.whole || !answer.body.equals(expected(replay)!)) return `${replay.name} split at ${at.slice(0, 8)}`
    }
    return undefined
  })
  t.same(found, [])
})

for (const replay of shortestOfEach(streams).filter(({ body }) => body.length < 2500)) {
  t.test(`${replay.path}: split in two at every one of ${replay.body.length} bytes, the same arrive`, async t => {
    const { play } = await stage(t)
    const splits = sample('bytes to split at', Array.from(replay.body.keys()), MAX_SPLITS)
    const found = await complaints(splits, async at => {
      const answer = await play(replay, pieces(replay, cut(replay.body, [at])))
      return answer?.whole && answer.body.equals(expected(replay)!) ? undefined : `split at ${at}`
    })
    t.same(found, [])
  })
}

proveNoLeak(t)
