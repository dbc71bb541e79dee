import t from 'tap'
import { parsePattern } from '../../src/plan/pattern.js'

t.test('a path without parameters is all literals', async t => {
  t.same(parsePattern('POST /v1/chat'), {
    method: 'POST',
    path: '/v1/chat',
    segments: [
      { type: 'literal', text: 'v1' },
      { type: 'literal', text: 'chat' },
    ],
    parameters: [],
  })
})

t.test('a parameter may carry a suffix', async t => {
  const { segments, parameters } = parsePattern('POST /v1beta/models/{model}:generateContent')
  t.same(segments[2], { type: 'parameter', name: 'model', suffix: ':generateContent' })
  t.same(parameters, ['model'])
})

t.test('a parameter with a star takes the rest', async t => {
  const { segments, parameters } = parsePattern('GET /v1/{kind}/{id*}')
  t.same(segments.slice(1), [
    { type: 'parameter', name: 'kind', suffix: '' },
    { type: 'tail', name: 'id' },
  ])
  t.same(parameters, ['kind', 'id'])
})
