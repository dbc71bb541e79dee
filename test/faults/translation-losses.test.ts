import t from 'tap'
import { hang } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'
import { EACH_CLIENT, PROTOCOLS, type Protocol } from '../helpers/text-clients.js'
import { answers, upstreamOf } from '../helpers/text-upstreams.js'
import { startStage, translated } from '../helpers/translation-stage.js'

// What the upstream's protocol cannot say is named, or refused where nothing may be lost.

t.setTimeout(300_000)

type Members = Readonly<Record<string, unknown>>

/** A member that no other protocol knows. */
const OWN: Readonly<Record<Protocol, readonly [field: string, more: Members]>> = {
  chat: ['prediction', { prediction: { type: 'content', content: 'hello' } }],
  responses: ['truncation', { truncation: 'auto' }],
  messages: ['container', { container: 'c_1' }],
  generate: ['safetySettings', { safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }] }],
  converse: ['guardrailConfig', { guardrailConfig: { guardrailIdentifier: 'g', guardrailVersion: '1' } }],
}

t.test('lossless or loud', async t => {
  await t.test('what cannot be carried is named to the client and in the log', async t => {
    const stage = await startStage(t)
    for (const [client, protocol] of translated(EACH_CLIENT)) {
      const [field, more] = OWN[client.protocol]
      for (const stream of [false, true]) {
        const model = stage.play(protocol, answers(upstreamOf(protocol)))
        const answer = await stage.ask(client, model, stream, more)
        t.equal(answer.status, 200, answer.text)
        t.match(answer.header('x-gateway-dropped')?.split(', '), [field], `${client.name} → ${protocol}`)
        t.match(((await stage.line(answer)).dropped as string[]) ?? [], [field])
      }
    }
  })

  const strictRoutes = EACH_CLIENT.map(client => {
    const path = decodeURIComponent(client.path('{model}', false))
    const [model, stream] = path.includes('{model}') ? ['path.model', ''] : ['body.model', 'stream: body.stream, ']
    const errors: Readonly<Record<Protocol, string>> = {
      ...{
        chat: 'compatible',
        responses: 'compatible',
        messages: 'messages',
        generate: 'native',
        converse: 'converse',
      },
    }
    return `  POST ${path}: { protocol: ${client.protocol}, model: ${model}, ${stream}errors: ${errors[client.protocol]}, strict: true, caller: [{ in: header, name: authorization, scheme: Bearer }, { in: header, name: x-api-key }, { in: header, name: x-goog-api-key }] }\n`
  })
  for (const [name, options] of [
    ['key', { keys: 'keys: { caller: { secret: { env: CALLER_KEY }, models: ["*"], strict: true } }' }],
    ['model', { models: PROTOCOLS.map(one => `  "strict-${one}-*": { upstream: ${one}, strict: true }\n`).join('') }],
    ['route', { more: `routes:\n${strictRoutes.join('')}` }],
  ] as const) {
    await t.test(`strict: true on a ${name} refuses instead, in the family, and nothing goes upstream`, async t => {
      const stage = await startStage(t, options)
      for (const [client, protocol] of translated(EACH_CLIENT)) {
        const [field, more] = OWN[client.protocol]
        const kind = name === 'model' ? `strict-${protocol}` : protocol
        const model = stage.play(kind, answers(upstreamOf(protocol)))
        const answer = await stage.ask(client, model, false, more)
        const failure = client.error(t, answer, 400)
        t.equal(answer.header('x-gateway-error'), 'untranslatable')
        t.match(failure.message, field, `${client.name} → ${protocol}`)
        if (failure.param !== undefined) t.equal(failure.param, field)
        t.equal(stage.asked(model).length, 0)
        t.equal((await stage.ask(client, model, false)).status, 200, 'a plain request goes through')
      }
    })
  }

  await t.test('a missing limit is not made up: messages without max_output wants one', async t => {
    const stage = await startStage(t, {
      upstreams: '  bare: { base: "ORIGIN", speaks: { messages: POST /v1/messages } }\n',
      models: '  "bare-*": bare\n',
    })
    const limits: Readonly<Record<string, Members>> = {
      chat: { max_completion_tokens: 50 },
      responses: { max_output_tokens: 50 },
      generate: { generationConfig: { maxOutputTokens: 50 } },
      converse: { inferenceConfig: { maxTokens: 50 } },
    }
    for (const client of EACH_CLIENT.filter(({ protocol }) => protocol !== 'messages')) {
      const model = stage.play('bare', answers(upstreamOf('messages')))
      const answer = await stage.ask(client, model, false)
      t.match(client.error(t, answer, 400).message, /needs a limit of output tokens/)
      t.equal(stage.asked(model).length, 0)
      t.equal((await stage.ask(client, model, false, limits[client.protocol])).status, 200)
      t.match(stage.asked(model)[0]?.json(), { max_tokens: 50 })
    }
  })

  await t.test('F-X1 nothing is fetched that the operator has not allowed', async t => {
    const stage = await startStage(t)
    const media = await startRawUpstream(t, { host: '127.0.0.2' })
    media.answer(hang)
    const url = `${media.origin}/x.png`
    const image: Readonly<Partial<Record<Protocol, Members>>> = {
      chat: { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] },
      responses: { input: [{ role: 'user', content: [{ type: 'input_image', image_url: url, detail: 'auto' }] }] },
      messages: { messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'url', url } }] }] },
      generate: { contents: [{ role: 'user', parts: [{ fileData: { mimeType: 'image/png', fileUri: url } }] }] },
    }
    for (const [client, protocol] of translated(EACH_CLIENT)) {
      // This protocol names media in a bucket alone.
      if (client.protocol === 'converse') continue
      const model = stage.play(protocol, answers(upstreamOf(protocol)))
      const answer = await stage.ask(client, model, false, image[client.protocol])
      if (answer.status === 200) t.match(stage.asked(model)[0]?.body.toString(), url, `${client.name} → ${protocol}`)
      else client.error(t, answer, 400)
    }
    t.equal(media.connections.items.length, 0)
  })
})

proveNoLeak(t)
