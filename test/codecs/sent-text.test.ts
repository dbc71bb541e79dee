import t from 'tap'
import { chat } from '../../src/codecs/chat/index.js'
import { sentText } from '../../src/codecs/sent-text.js'
import { requestOf, targetOf } from './support.js'

t.test('ids of calls that are too long for the upstream become digests, in calls and results alike', async t => {
  const idsOf = (protocol: string, ...ids: readonly string[]): readonly (readonly string[])[] => {
    const turns = [
      { role: 'assistant', parts: ids.map(id => ({ type: 'call', id, name: 'f', arguments: '{}' }) as const) },
      { role: 'user', parts: ids.map(id => ({ type: 'result', id, parts: [] }) as const) },
    ] as const
    const { request } = sentText(requestOf({ turns }), targetOf(chat), protocol)
    return request.turns.map(({ parts }) => parts.map(part => ('id' in part ? (part.id ?? '') : '')))
  }
  for (const [protocol, most] of [
    ['chat', 40],
    ['responses', 64],
    ['converse', 64],
  ] as const) {
    const fits = 'a'.repeat(most)
    const [calls, results] = idsOf(protocol, fits, `${fits}b`, `${fits}c`)
    t.same(results, calls, protocol)
    t.match(calls, [fits, /^call_[0-9a-f]{32}$/, /^call_[0-9a-f]{32}$/])
    t.equal(new Set(calls).size, 3, 'each has its own')
  }
  // 46 characters of another alphabet become 62 of base64url, behind four.
  const [[fits, long] = []] = idsOf('converse', '|'.repeat(45), '|'.repeat(46))
  t.same([fits, /^call_/.test(long ?? '')], ['|'.repeat(45), true], 'ids count as they are written')
  t.same(idsOf('messages', 'a'.repeat(99))[0], ['a'.repeat(99)], 'another protocol takes any length')
})
