import t from 'tap'
import { proveNoLeak } from '../helpers/canaries.js'
import type { Replay } from '../helpers/exchanges.js'
import type { Answer } from '../helpers/raw-client.js'
import { complaints, expected, groupBy, pieces, replaysOrNone, stage } from '../helpers/replay-stage.js'
import { whyUnclean } from '../helpers/unclean.js'

const replays = await replaysOrNone()

t.test('there is something to replay', { skip: replays.length === 0 && 'no recordings here' }, async t => {
  t.ok(replays.length > 900, `${replays.length} exchanges`)
  t.ok(replays.filter(({ stream }) => stream).length > 150, 'many of them are streams')
})

for (const [title, group] of groupBy(replays, ({ provider, path }) => `${provider}, ${path}`)) {
  t.test(`${title}: ${group.length} recorded answers reach the client byte for byte`, async t => {
    const { play, refused } = await stage(t)
    const found = await complaints(group, async replay => {
      const answer = await play(replay, pieces(replay, [replay.body]))
      const why = replay.finished ? whyOther(answer, replay, refused.has(replay)) : whyUnclean(answer, replay)
      return why === undefined ? undefined : `${replay.name}: ${why}`
    })
    t.same(found, [])
  })
}

/** How an answer differs from the recorded one; undefined where it does not. */
function whyOther(answer: Answer | undefined, replay: Replay, refused: boolean): string | undefined {
  if (answer === undefined) return 'no answer'
  // What the provider refused may be refused by the schema of the route already.
  if (refused) return answer.status === 400 && replay.status === 400 ? undefined : `refused: ${answer.text}`
  const body = expected(replay)
  if (body === undefined) return answer.status === 502 ? undefined : `status ${answer.status}`
  if (answer.status !== replay.status) return `status ${answer.status}: ${answer.text.slice(0, 300)}`
  if (!answer.whole || !answer.body.equals(body)) return 'other bytes'
  return answer.header('content-type') === replay.type ? undefined : 'another content type'
}

proveNoLeak(t)
