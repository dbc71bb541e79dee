import t from 'tap'
import { generateCount } from '../../../src/codecs/generate/index.js'
import { HEAD, request, target } from './support.js'

const CONTENTS = [{ role: 'user', parts: [{ text: 'Hi' }] }]
const TURNS = [{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }]

t.test('turns alone, or a whole request', async t => {
  t.match(generateCount.server.decodeRequest({ contents: CONTENTS }, HEAD), { turns: TURNS, system: [] })
  const whole = { model: 'models/m', contents: CONTENTS, system_instruction: { parts: [{ text: 'Be kind.' }] } }
  for (const name of ['generateContentRequest', 'generate_content_request']) {
    t.match(generateCount.server.decodeRequest({ [name]: whole }, HEAD), {
      turns: TURNS,
      system: [{ text: 'Be kind.' }],
      left: [],
    })
  }
})

t.test('turns go alone where there is nothing else', async t => {
  t.same(generateCount.client.encodeRequest(request(), target()), { contents: CONTENTS })
  t.same(generateCount.client.encodeRequest(request({ system: [{ type: 'text', text: 'Be kind.' }] }), target()), {
    generateContentRequest: {
      model: 'models/m',
      contents: CONTENTS,
      systemInstruction: { parts: [{ text: 'Be kind.' }] },
    },
  })
})

t.test('the number', async t => {
  t.same(generateCount.server.encodeResult(7), { totalTokens: 7 })
  t.equal(generateCount.client.decodeResult({ totalTokens: 7, promptTokensDetails: [] }), 7)
  for (const body of [null, {}, { totalTokens: -1 }, { totalTokens: '7' }, []])
    t.throws(() => generateCount.client.decodeResult(body), { code: 'bad_upstream_response' } as unknown as Error)
})
