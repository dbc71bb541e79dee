import t from 'tap'
import { CHAT_ANSWER, json } from './answers.js'
import { allowFault, relaysAnything, takeFaults } from './emitted.js'
import { CALLER, startTestGateway, upstreamYaml } from './gateway.js'
import { openApiFolder } from './openapi.js'
import { startRawUpstream } from './raw-upstream.js'
import { upstreamOf } from './text-upstreams.js'

// What goes to upstreams is checked in every test, so it is worth a look that the check sees what is wrong.

t.test('requests that go out', { skip: openApiFolder() === undefined }, async t => {
  const up = await startRawUpstream(t)
  const messages = upstreamOf('messages')
  const yaml = `version: 1
${CALLER}
upstreams:
  chat: ${upstreamYaml(up.origin)}
  messages: { base: "${up.origin}", ${messages.yaml} }
models:
  relayed: chat
  translated: messages
  spoiled: { targets: [messages], request: [{ set: { top_k: many } }] }
`
  const gateway = await startTestGateway(t, yaml)
  const ask = async (model: string, more = {}): Promise<readonly string[]> => {
    up.answer(json(model === 'relayed' ? CHAT_ANSWER : messages.answer))
    const answer = await gateway.chat({ model, ...more })
    t.equal(answer.status, 200, answer.text)
    await gateway.log.find(({ msg, id }) => msg === 'request' && id === answer.header('x-request-id'))
    return takeFaults()
  }

  await t.test('sound ones, relayed and translated, are not faults', async t => {
    t.same(await ask('relayed'), [])
    t.same(await ask('translated'), [])
  })

  await t.test('what a translated one holds too much or wrongly is reported, each fault once', async t => {
    const faults = await ask('spoiled')
    t.equal(faults.length, 1)
    t.match(faults[0], /^\/v1\/messages \(asked as \/v1\/chat\/completions\): top_k: must be/)
    t.same(await ask('translated'), [], 'and then counts no more')
  })

  await t.test('relayed ones count until a file says that its clients send anything', async t => {
    const odd = { seed: 1e30 }
    t.match(await ask('relayed', odd), [/seed/])
    relaysAnything()
    t.same(await ask('relayed', { seed: 2e30 }), [])
    t.match(await ask('spoiled', { n: 1, temperature: 0.5 }), [/top_k/], 'translated ones count still')
  })

  await t.test('what is meant is allowed by its words', async t => {
    allowFault(/top_k: must be integer/)
    t.same(await ask('spoiled', { temperature: 0.25 }), [])
  })
})
