import t, { type Test } from 'tap'
import { json } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { allowFault } from '../helpers/emitted.js'
import { startTestGateway } from '../helpers/gateway.js'
import type { Answer } from '../helpers/raw-client.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'
import { clientOf, EACH_CLIENT, type Protocol, type TextClient } from '../helpers/text-clients.js'
import { answers, TEXT, upstreamOf } from '../helpers/text-upstreams.js'
import { PATIENT, type Stage, startStage, translated } from '../helpers/translation-stage.js'

// Requests that are hostile: their JSON, and the names in them.

t.setTimeout(300_000)

// Bytes that are not base64s are for the upstream to refuse: no one here looks at megabytes of them.
allowFault(/source\.data: must match pattern/)

type Members = Readonly<Record<string, unknown>>

/** Clients whose body names the model; the others have it in the path. */
const NAMED_IN_BODY = EACH_CLIENT.filter(({ protocol }) => protocol !== 'generate' && protocol !== 'converse')

/** Sends exactly this text. */
function post(stage: Stage, client: TextClient, model: string, text: string | Buffer) {
  const headers = { ...client.headers(stage.gateway.key), authorization: `Bearer ${stage.gateway.key}` }
  return stage.gateway.request(client.path(model, false), { body: text, method: 'POST', headers })
}

/** The text of a request, with one more member in front. */
function withMember(client: TextClient, model: string, member: string): string {
  return JSON.stringify(client.body(model, false)).replace('{', `{${member},`)
}

t.test('hostile JSON', async t => {
  const stage = await startStage(t, { more: PATIENT })
  const refused: readonly (readonly [string, string])[] = [
    ['100,000 levels deep', `"x":${'['.repeat(100_000)}${']'.repeat(100_000)}`],
    ['100,000 levels deep, objects', `"x":${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`],
    ['a million levels, never closed', `"x":${'['.repeat(1_000_000)}`],
    ['65 levels deep', `"x":${'['.repeat(65)}${']'.repeat(65)}`],
    ['10,001 members', `"x":{${Array.from({ length: 10_001 }, (_, i) => `"k${i}":1`)}}`],
    ['NaN', '"x":NaN'],
    ['a bad escape', '"x":"\\x6d"'],
    ['a raw line end behind 1,023 characters of a string', `"x":"${'x'.repeat(1023)}\n"`],
    ['a raw line end behind 1,024 characters of a string', `"x":"${'x'.repeat(1024)}\n"`],
    ['a raw line end behind 70,000 characters of a string', `"x":"${'x'.repeat(70_000)}\n"`],
  ]
  for (const [name, member] of refused) {
    await t.test(`F-C11 ${name} is 400 in the family, and the upstream sees nothing`, async t => {
      for (const [client, protocol] of translated(EACH_CLIENT)) {
        const model = stage.play(protocol, answers(upstreamOf(protocol)))
        client.error(t, await post(stage, client, model, withMember(client, model, member)), 400)
        t.equal(stage.asked(model).length, 0)
      }
    })
  }

  await t.test('F-C11 the other new routes refuse 100,000 levels too', async t => {
    const deep = `{"model":"messages-0","x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`
    for (const [path, protocol] of [
      ['/v1/messages/count_tokens', 'messages'],
      ['/v1beta/models/messages-0:countTokens', 'generate'],
      ['/v1beta/models/messages-0:embedContent', 'generate'],
      ['/v1beta/models/messages-0:batchEmbedContents', 'generate'],
      ['/v1/responses/compact', 'responses'],
      ['/v1/responses/input_tokens', 'responses'],
      ['/v1/embeddings', 'chat'],
    ] as const) {
      const answer = await stage.gateway.request(path, { body: deep, method: 'POST' })
      clientOf(protocol).error(t, answer, 400)
    }
  })

  await t.test('F-C11 control members that occur twice are 400', async t => {
    for (const client of NAMED_IN_BODY) {
      const model = stage.play('generate', answers(upstreamOf('generate')))
      for (const member of ['"model":"other"', '"stream":true', '"mod\\u0065l":"other"'])
        client.error(t, await post(stage, client, model, withMember(client, model, member)), 400)
      t.equal(stage.asked(model).length, 0)
    }
  })

  const harmless: readonly (readonly [string, string])[] = [
    ['__proto__', '"__proto__":{"polluted":1}'],
    ['constructor', '"constructor":{"prototype":{"polluted":1}}'],
    ['a lone surrogate', '"x":"\\ud800"'],
    ['numbers that no double holds', '"x":[1e999,-0.0,123456789012345678901234567890]'],
    ['a long list', `"x":[${'1,'.repeat(200_000)}1]`],
  ]
  for (const [name, member] of harmless) {
    await t.test(`F-C11 ${name} does no harm, and is named as left out`, async t => {
      for (const [client, protocol] of translated(EACH_CLIENT)) {
        const model = stage.play(protocol, answers(upstreamOf(protocol)))
        const answer = await post(stage, client, model, withMember(client, model, member))
        t.equal(({} as { polluted?: unknown }).polluted, undefined, 'no prototype was changed')
        if (answer.status === 400) {
          client.error(t, answer, 400)
          continue
        }
        t.equal(answer.status, 200, `${client.name} → ${protocol}: ${answer.text.slice(0, 200)}`)
        t.equal(client.text(answer), TEXT)
        t.ok(answer.header('x-gateway-dropped'), `${client.name} → ${protocol}`)
      }
    })
  }

  await t.test('F-C11 a lone surrogate in the words of the user is carried as what JSON can hold', async t => {
    for (const [client, protocol] of translated(EACH_CLIENT)) {
      const model = stage.play(protocol, answers(upstreamOf(protocol)))
      const text = JSON.stringify(client.body(model, false)).replaceAll('"hello"', '"a\\ud800b"')
      const answer = await post(stage, client, model, text)
      t.equal(answer.status, 200, answer.text)
      t.match(JSON.stringify(stage.asked(model)[0]?.json()), /a(\\ud800|\ufffd)b/)
    }
  })

  await t.test('F-C12 megabytes of one character are answered all the same', async t => {
    const long = 1024 * 1024
    const texts = ['a', ' ', '\n', '-', '{', '"', '=', ';', '<', '\\'].map(one => one.repeat(long))
    for (const [client, protocol] of translated(EACH_CLIENT)) {
      const model = stage.play(protocol, answers(upstreamOf(protocol)))
      for (const text of texts) {
        const body = JSON.stringify(client.body(model, false)).replaceAll('"hello"', () => JSON.stringify(text))
        const { status } = await post(stage, client, model, body)
        t.ok([200, 400].includes(status), `${client.name} → ${protocol}: ${status}`)
      }
    }
  })

  await t.test('F-C12 so are URLs that look like data', async t => {
    const long = 1024 * 1024
    const model = stage.play('messages', answers(upstreamOf('messages')))
    for (const url of [
      `data:${';'.repeat(long)}`,
      `data:image/png${';a=b'.repeat(long / 4)},x`,
      `data:image/png;base64,${'='.repeat(long)}`,
      `data:${' '.repeat(long)}`,
      `http://${'a.'.repeat(long / 2)}`,
    ]) {
      const messages = [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }]
      const { status } = await stage.ask(clientOf('chat'), model, false, { messages })
      t.ok([200, 400].includes(status), String(status))
    }
  })
})

function linesOf(head: Buffer | undefined): readonly string[] {
  return (head?.toString('latin1') ?? '').split('\r\n')
}

t.test('names in headers and paths', async t => {
  const stage = await startStage(t)

  await t.test('F-C13 names of members that are left out go into a header without doing harm', async t => {
    const names = ['a\r\nx-evil: 1', 'a\u0000b', 'ключ', 'a, b', '😀', ' ', '', 'x'.repeat(10_000), '\u007f', '"']
    for (const [client, protocol] of translated(EACH_CLIENT)) {
      const model = stage.play(protocol, answers(upstreamOf(protocol)))
      for (const name of names) {
        const answer = await stage.ask(client, model, false, { [name]: 1 })
        t.equal(answer.header('x-evil'), undefined)
        if (answer.status === 200) t.match(answer.header('x-gateway-dropped') ?? '', /^[\x20-\x7e]{0,200}$/)
        else client.error(t, answer, 400)
      }
      const many = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`member_number_${i}`, 1]))
      const answer = await stage.ask(client, model, false, many)
      t.ok((answer.header('x-gateway-dropped') ?? '').length < 10_000, 'a header of a bounded length')
    }
  })

  await t.test('F-C13 models with line breaks in their names are unknown', async t => {
    for (const client of EACH_CLIENT) {
      for (const name of ['x\r\nx-evil: 1', 'x\u0000', '\u{1f600}', 'x'.repeat(300)]) {
        const answer = await stage.ask(client, name, false)
        t.ok([400, 404].includes(answer.status), `${client.name}: ${answer.status}`)
        client.error(t, answer, answer.status)
        t.equal(answer.header('x-evil'), undefined)
      }
    }
  })

  await t.test('F-C13 file names, participants, users and metadata reach no header', async t => {
    const evil = 'a"; x="b\r\nx-evil: 1\r\n\r\n{}\0ü\u2028.pdf'
    const data = Buffer.from('%PDF-1.4').toString('base64')
    const url = `data:application/pdf;base64,${data}`
    const requests: Readonly<Record<Protocol, Members>> = {
      chat: {
        messages: [
          { role: 'user', name: evil, content: [{ type: 'file', file: { filename: evil, file_data: url } }] },
          { role: 'user', content: 'hello' },
        ],
        user: evil,
        metadata: { [evil.slice(0, 60)]: evil },
        safety_identifier: evil,
        prompt_cache_key: evil,
        service_tier: evil,
      },
      responses: {
        input: [{ role: 'user', content: [{ type: 'input_file', filename: evil, file_data: url }] }],
        user: evil,
        metadata: { [evil.slice(0, 60)]: evil },
        safety_identifier: evil,
        prompt_cache_key: evil,
      },
      messages: {
        messages: [
          {
            role: 'user',
            content: [
              {
                type: 'document',
                title: evil,
                context: evil,
                source: { type: 'base64', media_type: 'application/pdf', data },
              },
            ],
          },
        ],
        metadata: { user_id: evil },
      },
      generate: {
        contents: [{ role: 'user', parts: [{ inlineData: { mimeType: 'application/pdf', data, displayName: evil } }] }],
        labels: { [evil]: evil },
      },
      converse: {
        messages: [
          {
            role: 'user',
            content: [{ document: { format: 'pdf', name: evil, source: { bytes: data } } }, { text: 'x' }],
          },
        ],
        requestMetadata: { [evil]: evil },
      },
    }
    for (const [client, protocol] of translated(EACH_CLIENT)) {
      const plain = stage.play(protocol, answers(upstreamOf(protocol)))
      await stage.ask(client, plain, false)
      const headers = (model: string): readonly string[] =>
        linesOf(stage.asked(model)[0]?.head.raw).map(line => line.split(':', 1)[0] ?? '')
      for (const stream of [false, true]) {
        const model = stage.play(protocol, answers(upstreamOf(protocol)))
        const answer = await stage.ask(client, model, stream, requests[client.protocol])
        t.equal(answer.header('x-evil'), undefined)
        if (answer.status !== 200) {
          client.error(t, answer, 400)
          continue
        }
        t.match(answer.header('x-gateway-dropped') ?? '', /^[\x20-\x7e]*$/)
        t.same(headers(model).slice(1), headers(plain).slice(1), `${client.name} → ${protocol}: the same headers`)
        t.doesNotThrow(() => stage.asked(model)[0]?.json())
      }
    }
  })

  await t.test('F-C13 names of tools with line breaks and worse are carried, put right or refused', async t => {
    const tools: Readonly<Record<Protocol, (name: string) => Members>> = {
      chat: name => ({ tools: [{ type: 'function', function: { name, parameters: { type: 'object' } } }] }),
      responses: name => ({ tools: [{ type: 'function', name, parameters: { type: 'object' }, strict: false }] }),
      messages: name => ({ tools: [{ name, input_schema: { type: 'object' } }] }),
      generate: name => ({ tools: [{ functionDeclarations: [{ name, parameters: { type: 'OBJECT' } }] }] }),
      converse: name => ({
        toolConfig: { tools: [{ toolSpec: { name, inputSchema: { json: { type: 'object' } } } }] },
      }),
    }
    for (const [client, protocol] of translated(EACH_CLIENT)) {
      const model = stage.play(protocol, answers(upstreamOf(protocol)))
      for (const name of ['a\r\nb', '__proto__', 'constructor', '../x', 'ü', 'x'.repeat(200)]) {
        const answer = await stage.ask(client, model, false, tools[client.protocol](name))
        if (answer.status !== 200) client.error(t, answer, 400)
        t.equal(({} as { polluted?: unknown }).polluted, undefined)
      }
    }
  })
})

t.test('F-C14 models in paths', async t => {
  const upstream = await startRawUpstream(t)
  upstream.answer(json(upstreamOf('generate').answer))
  const gateway = await startTestGateway(
    t,
    `version: 1\nkeys: { caller: { secret: { env: CALLER_KEY }, models: ["*"] } }\nupstreams: { up: { base: "${upstream.origin}", ${upstreamOf('generate').yaml} } }\nmodels: { "*": up }\n`,
  )

  /** Refused before the upstream hears of it, or one segment of the path: the name, escaped, as it was meant. */
  async function check(t: Test, name: string, ask: () => Promise<Answer>, meant: () => string): Promise<void> {
    const before = upstream.requests.items.length
    const answer = await ask()
    const seen = upstream.requests.items.slice(before)
    if (answer.status !== 200) {
      // 405: the path belongs to the list of models, which is only read.
      t.ok([400, 404, 405].includes(answer.status), `${name}: ${answer.status}`)
      if (answer.status === 405) t.equal(answer.header('allow'), 'GET')
      t.equal(seen.length, 0, `${name}: nothing went upstream`)
      return
    }
    t.same(
      seen.map(({ method, target }) => `${method} ${target}`),
      [`POST /v1beta/models/${encodeURIComponent(meant())}:generateContent`],
      name,
    )
    // Even a server that unescapes twice finds nothing to climb with.
    t.notMatch(meant(), /[/\\%\0\r\n]|^\.{1,2}$/, name)
  }

  const dots = ['..', '.', '%2e%2e', '%2e.', '.%2E', '%252e%252e', '%c0%ae%c0%ae', '%u002e%u002e', '..;', '...']
  const slashes = ['/', '%2f', '%2F', '\\', '%5c', '%252f', '%c0%af', '//', '/./', '%00/']
  const names = dots.flatMap(dot => slashes.map(slash => `${dot}${slash}x`))
  const tricks = [
    'x:y',
    'x%3Ay',
    'x%3AstreamGenerateContent',
    'x:generateContent',
    'x%23y',
    'x%3Fkey=1',
    'x%26y',
    'x%3By',
    'x;y=1',
    'x%20y',
    'x%0d%0ay',
    'x%00',
    '%ff',
    '%',
    '%2',
    '%zz',
  ]
  await t.test('F-C14 of native clients', async t => {
    const body = { contents: [{ role: 'user', parts: [{ text: 'x' }] }] }
    for (const name of [...names, ...dots, ...tricks]) {
      const path = `/v1beta/models/${name}:generateContent`
      await check(
        t,
        name,
        () => gateway.request(path, { body }),
        () => decodeURIComponent(name),
      )
    }
    // Nothing was taken for the query or the fragment of the upstream's address.
    t.ok(upstream.requests.items.some(({ target }) => target === '/v1beta/models/x%3Fkey%3D1:generateContent'))
    t.ok(upstream.requests.items.some(({ target }) => target === '/v1beta/models/x%23y:generateContent'))
  })

  await t.test('F-C14 of clients that name the model in the body', async t => {
    for (const client of NAMED_IN_BODY) {
      for (const name of ['../../x', '..', 'a/../b', 'x?y', 'x#y', 'x%2fy', 'x\r\ny', '/', '.', '\\', 'x\0', 'ü']) {
        const options = { headers: client.headers(gateway.key), body: client.body(name, false) }
        await check(
          t,
          `${client.name}: ${JSON.stringify(name)}`,
          () => gateway.request(client.path(name, false), options),
          () => name,
        )
      }
    }
  })
})

proveNoLeak(t)
