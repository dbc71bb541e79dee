import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { body as answerBody, chunk, hang, head, json, LAST_CHUNK } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { compatibleError } from '../helpers/expect.js'
import { formOf, heldIn, noise, sending, untilHeld } from '../helpers/forms.js'
import { CALLER, oneUpstream, startTestGateway, type TestGateway, upstreamYaml } from '../helpers/gateway.js'
import { type RawUpstream, type Script, startRawUpstream, type UpstreamOptions } from '../helpers/raw-upstream.js'

const PATH = '/v1/audio/transcriptions'
const KIB = 1024
const MIB = 1024 * KIB

interface Stage {
  readonly gateway: TestGateway
  readonly upstream: RawUpstream
  /** Where large bodies go. */
  readonly folder: string
}

async function playing(
  t: Test,
  script: Script,
  {
    more = '',
    models = 'm: up',
    upstream: options,
  }: { more?: string; models?: string; upstream?: UpstreamOptions } = {},
): Promise<Stage> {
  const upstream = await startRawUpstream(t, options)
  upstream.answer(script)
  const yaml = `version: 1\n${CALLER}\nupstreams: { up: ${upstreamYaml(upstream.origin)} }\nmodels: { ${models} }\n${more}`
  const gateway = await startTestGateway(t, yaml)
  return { gateway, upstream, folder: join(gateway.folder, 'data', 'spool') }
}

const TEXT = json({ text: 'hello' })

/** Waits until nothing is held any more; the log line of the request is what comes last. */
async function settled({ gateway, folder }: Stage, requests = 1): Promise<readonly string[]> {
  await gateway.log.count(requests, line => line.msg === 'request')
  await untilHeld(folder, false)
  // The file is closed a moment before that is known.
  while (gateway.gateway.held.bodies > 0) await new Promise(setImmediate)
  return heldIn(folder)
}

t.test('a form goes out byte for byte: heads, names, order, boundaries, whatever stands around', async t => {
  const { gateway, upstream } = await playing(t, TEXT)
  const odd =
    'preamble\r\n--B \t\r\ncontent-DISPOSITION:form-data; filename="a \\"b\\" é.wav" ; name=file\r\nX-Own: yes\r\n' +
    'Content-Type: audio/wav\r\n\r\n\r\n--A\r\n-\r\n--B\r\nContent-Disposition: form-data; name="unknown[]"\r\n\r\n1\r\n' +
    '--B\r\nContent-Disposition: form-data; name="model"\r\nContent-Length: 1\r\n\r\nm\r\n--B--\t\r\nepilogue'
  const answer = await gateway.request(PATH, sending(odd))
  t.equal(answer.text, '{"text":"hello"}')
  const [sent] = upstream.requests.items
  t.equal(sent?.body.toString(), odd)
  t.equal(sent?.header('content-type'), 'multipart/form-data; boundary=B')
  t.equal(sent?.header('content-length'), String(Buffer.byteLength(odd)))
  t.equal(sent?.header('transfer-encoding'), undefined)
})

for (const [where, at] of [['behind', 1], ['before', 0]] as const) // biome-ignore format: pairs
  t.test(`the model may be ${where} the file, and only it changes where an alias asks for that`, async t => {
    const { gateway, upstream } = await playing(t, TEXT, {
      models: 'm: up, mine: { upstream: up, as: a/much/longer-name }',
    })
    const body = (model: string): Buffer => {
      const parts = [['file', noise(70 * KIB), 'audio/wav'], ['prompt', 'Grüße\r\n']] as const // biome-ignore format: pairs
      return formOf(...parts.slice(0, at), ['model', model], ...parts.slice(at))
    }
    const answer = await gateway.request(PATH, sending(body('mine')))
    t.equal(answer.status, 200)
    t.ok(upstream.requests.items[0]?.body.equals(body('a/much/longer-name')))
    t.equal(upstream.requests.items[0]?.header('content-length'), String(body('a/much/longer-name').length))
  })

/** A form of unknown length, in chunks. */
function chunked(gateway: TestGateway, pieces: readonly Uint8Array[]): Promise<Response> {
  const body = ReadableStream.from(pieces)
  const headers = { authorization: `Bearer ${gateway.key}`, 'content-type': 'multipart/form-data; boundary=B' }
  return fetch(gateway.origin + PATH, { method: 'POST', headers, body, duplex: 'half' } as RequestInit)
}

t.test('a form that comes in chunks goes out with its length', async t => {
  const { gateway, upstream } = await playing(t, TEXT)
  const form = formOf(['file', noise(3000), 'audio/wav'], ['model', 'm'])
  const answer = await chunked(gateway, [form.subarray(0, 777), form.subarray(777)])
  t.equal(answer.status, 200)
  t.equal(upstream.requests.items[0]?.header('content-length'), String(form.length))
  t.equal(upstream.requests.items[0]?.header('transfer-encoding'), undefined)
  t.ok(upstream.requests.items[0]?.body.equals(form))
})

t.test('a large form is held on the disk while it is served, and no longer', async t => {
  const stage = await playing(t, peer => {
    seen.push(...heldIn(stage.folder))
    return TEXT(peer)
  })
  const seen: string[] = []
  const form = formOf(['file', noise(5 * MIB), 'audio/wav'], ['model', 'm'])
  const answer = await stage.gateway.request(PATH, sending(form))
  t.equal(answer.status, 200)
  t.ok(stage.upstream.requests.items[0]?.body.equals(form))
  t.equal(seen.length, process.platform === 'linux' ? 1 : seen.length, 'it is on the disk')
  t.same(await readdir(stage.folder), [], 'under no name')
  t.same(await settled(stage), [])
  t.match(await stage.gateway.log.find(line => line.msg === 'request'), {
    outcome: 'ok',
    bytes_in: form.length,
    model: 'm',
  })
})

t.test('a small form never touches the disk', async t => {
  const stage = await playing(t, TEXT)
  await stage.gateway.request(PATH, sending(formOf(['file', noise(100 * KIB), 'audio/wav'], ['model', 'm'])))
  await t.rejects(readdir(stage.folder), { code: 'ENOENT' })
})

t.test('F-U1 another target gets the same bytes, from what is held', async t => {
  const [first, second] = [await startRawUpstream(t), await startRawUpstream(t)]
  first.answer(json({ error: { message: 'no' } }, { status: 503 }))
  second.answer(TEXT)
  const upstreams = `upstreams:\n  a: ${upstreamYaml(first.origin)}\n  b: ${upstreamYaml(second.origin)}\n`
  const models = 'models: { m: [{ upstream: a }, { upstream: b, as: other }] }\n'
  const gateway = await startTestGateway(t, `version: 1\n${CALLER}\n${upstreams}${models}`)
  const form = (model: string): Buffer => formOf(['file', noise(2 * MIB), 'audio/wav'], ['model', model])
  const answer = await gateway.request(PATH, sending(form('m')))
  t.equal(answer.text, '{"text":"hello"}')
  t.ok(first.requests.items[0]?.body.equals(form('m')))
  t.ok(second.requests.items[0]?.body.equals(form('other')))
})

t.test('F-M2 uploads that break off half-way: no one is asked, and nothing is left on the disk', async t => {
  const stage = await playing(t, TEXT)
  const form = formOf(['file', noise(4 * MIB), 'audio/wav'], ['model', 'm'])
  for (let round = 0; round < 12; round += 1) {
    const client = await stage.gateway.open(PATH, {
      ...sending(form.subarray(0, form.length / 2)),
      headers: { 'content-type': 'multipart/form-data; boundary=B', 'content-length': String(form.length) },
    })
    // Half of them go while the gateway is still reading, half when it has read all that there is.
    if (round % 2 === 0) await untilHeld(stage.folder, true)
    if (round % 3 === 0) client.socket.resetAndDestroy()
    else client.socket.destroy()
    await stage.gateway.log.count(round + 1, line => line.msg === 'request')
  }
  t.same(await settled(stage, 12), [])
  t.equal(stage.upstream.connections.items.length, 0)
  for (const line of stage.gateway.log.items.filter(line => line.msg === 'request')) t.match(line, { status: 499 })
})

t.test('F-M2 a client that goes while the upstream is at work: both sides let go', async t => {
  const stage = await playing(t, hang)
  const client = await stage.gateway.open(PATH, sending(formOf(['file', noise(MIB), 'audio/wav'], ['model', 'm'])))
  await stage.upstream.requests.count(1)
  client.socket.destroy()
  await stage.upstream.aborts.count(1)
  t.same(await settled(stage), [])
})

t.test('F-U22 an upstream that does not read: the client’s bytes wait on the disk, and go when it goes', async t => {
  const stage = await playing(t, hang, { upstream: { read: 'never' } })
  const client = await stage.gateway.open(PATH, sending(formOf(['file', noise(16 * MIB), 'audio/wav'], ['model', 'm'])))
  await stage.upstream.connections.count(1)
  client.socket.destroy()
  t.same(await settled(stage), [])
})

t.test('F-U23 an upstream that answers before it has read all: its answer is passed at once', async t => {
  const refusal = { error: { message: 'too long', type: 'invalid_request_error', param: 'file', code: null } }
  const stage = await playing(t, json(refusal, { status: 413 }), { upstream: { read: 'head' } })
  const answer = await stage.gateway.request(
    PATH,
    sending(formOf(['file', noise(16 * MIB), 'audio/wav'], ['model', 'm'])),
  )
  t.equal(answer.status, 413)
  t.match(answer.json(), { error: { message: /too long/ } })
  t.same(await settled(stage), [])
})

t.test('F-U23 an upstream that refuses before it has read all: another one gets the whole form', async t => {
  const first = await startRawUpstream(t, { read: 'head' })
  const second = await startRawUpstream(t)
  first.answer(json({ error: { message: 'overloaded' } }, { status: 503, headers: { connection: 'close' } }))
  second.answer(TEXT)
  const upstreams = `upstreams:\n  a: ${upstreamYaml(first.origin)}\n  b: ${upstreamYaml(second.origin)}\n`
  const models = 'models: { m: [{ upstream: a }, { upstream: b }] }\n'
  const gateway = await startTestGateway(t, `version: 1\n${CALLER}\n${upstreams}${models}`)
  const form = formOf(['file', noise(8 * MIB), 'audio/wav'], ['model', 'm'])
  t.equal((await gateway.request(PATH, sending(form))).status, 200)
  t.ok(second.requests.items[0]?.body.equals(form))
})

t.test('a client that goes while its form waits for a connection leaves nothing', async t => {
  let release: () => void = () => undefined
  const released = new Promise<void>(resolve => {
    release = resolve
  })
  const stage = await playing(
    t,
    async peer => {
      await released
      await TEXT(peer)
    },
    { more: 'limits: { connections: 1 }\n' },
  )
  const form = formOf(['file', noise(MIB), 'audio/wav'], ['model', 'm'])
  const first = stage.gateway.request(PATH, sending(form))
  await stage.upstream.requests.count(1)
  const second = await stage.gateway.open(PATH, sending(form))
  while (stage.gateway.gateway.held.bodies < 2) await new Promise(setImmediate)
  second.socket.destroy()
  await stage.gateway.log.find(line => line.status === 499)
  release()
  t.equal((await first).status, 200)
  t.same(await settled(stage, 2), [])
  t.equal(stage.upstream.requests.items.length, 1)
  t.equal((await stage.gateway.request(PATH, sending(form))).status, 200)
})

t.test('a form that does not arrive in time: 408, and nothing is left', async t => {
  const stage = await playing(t, TEXT, { more: 'limits: { upload: 500ms }\n' })
  const form = formOf(['file', noise(4 * MIB), 'audio/wav'], ['model', 'm'])
  const client = await stage.gateway.open(PATH, {
    ...sending(form.subarray(0, MIB)),
    headers: { 'content-type': 'multipart/form-data; boundary=B', 'content-length': String(form.length) },
  })
  compatibleError(t, await client.answer(), 408)
  t.same(await settled(stage), [])
})

t.test('many forms at once, in little memory: each arrives as it was', async t => {
  const stage = await playing(t, TEXT, { more: 'spool: { memory: 512KiB, body: 128KiB }\n' })
  const forms = Array.from({ length: 16 }, (_, at) =>
    formOf(['prompt', `number ${at}`], ['file', noise((100 + 60 * at) * KIB), 'audio/wav'], ['model', 'm']),
  )
  const answers = await Promise.all(forms.map(form => stage.gateway.request(PATH, sending(form))))
  t.same(new Set(answers.map(({ status }) => status)), new Set([200]))
  const sent = stage.upstream.requests.items.map(({ body }) => body.toString('hex')).sort()
  t.ok(JSON.stringify(sent) === JSON.stringify(forms.map(form => form.toString('hex')).sort()))
  t.same(await settled(stage, forms.length), [])
  t.same(stage.gateway.gateway.held, { bodies: 0, memory: 0, disk: 0, files: 0 })
})

t.test('what a crash has left in the folder is swept at the start', async t => {
  const { gateway } = await playing(t, TEXT)
  const folder = join(gateway.folder, 'old')
  await mkdir(folder)
  await writeFile(join(folder, `gateway-spool-${'0'.repeat(32)}`), 'left')
  await writeFile(join(folder, 'notes.txt'), 'mine')
  await startTestGateway(t, `${oneUpstream('http://127.0.0.1:9')}spool: { path: "${folder}" }\n`)
  t.same(await readdir(folder), ['notes.txt'])
})

t.test('F-C10 bodies beyond the bounds are refused before they are read, and nothing is left', async t => {
  const stage = await playing(t, TEXT, {
    more: `routes: { POST ${PATH}: { protocol: transcriptions, model: form.model, limits: { body: 64KiB, parts: 4, field: 1KiB, fields: 1536B } } }\n`,
  })
  const limits: string[] = []
  const logged = async (limit: string): Promise<void> => {
    limits.push(limit)
    const lines = await stage.gateway.log.count(limits.length, line => line.msg === 'request')
    t.same(
      lines.map(line => line.limit),
      limits,
    )
  }
  const refuse = async (form: Buffer, status: number, limit: string): Promise<void> => {
    compatibleError(t, await stage.gateway.request(PATH, sending(form)), status)
    await logged(limit)
  }
  await refuse(formOf(['model', 'm'], ['file', noise(64 * KIB), 'audio/wav']), 413, 'body')
  t.equal((await chunked(stage.gateway, [formOf(['file', noise(64 * KIB), 'audio/wav'])])).status, 413)
  await logged('body')
  await refuse(formOf(...Array.from({ length: 5 }, () => ['x', 'y'] as const)), 400, 'parts')
  await refuse(formOf(['model', 'm'], ['prompt', 'x'.repeat(1025)]), 400, 'field')
  await refuse(formOf(['model', 'm'], ['prompt', 'x'.repeat(1000)], ['language', 'x'.repeat(1000)]), 400, 'fields')
  const fits = formOf(['model', 'm'], ['prompt', 'x'.repeat(1024)], ['file', noise(60 * KIB), 'audio/wav'])
  t.equal((await stage.gateway.request(PATH, sending(fits))).status, 200)
  t.equal(stage.upstream.requests.items.length, 1)
})

t.test('a disk that is full, or that is said to be: 503, and the next one is served', async t => {
  const stage = await playing(t, TEXT, { more: 'spool: { body: 64KiB, memory: 128KiB, disk: 1MiB }\n' })
  const large = formOf(['file', noise(2 * MIB), 'audio/wav'], ['model', 'm'])
  const answer = await stage.gateway.request(PATH, sending(large))
  t.equal(answer.header('retry-after'), '1')
  compatibleError(t, answer, 503)
  t.match(await stage.gateway.log.find(line => line.status === 503), { error: 'unavailable', limit: 'spool' })
  t.equal(
    (await stage.gateway.request(PATH, sending(formOf(['file', noise(700 * KIB), 'audio/wav'], ['model', 'm']))))
      .status,
    200,
  )
  t.same(await settled(stage, 2), [])
})

t.test('a folder that cannot be used refuses large bodies, and serves small ones', async t => {
  const stage = await playing(t, TEXT, { more: 'spool: { path: gateway.yaml/none }\n' })
  compatibleError(
    t,
    await stage.gateway.request(PATH, sending(formOf(['file', noise(MIB), 'audio/wav'], ['model', 'm']))),
    503,
  )
  t.equal(
    (await stage.gateway.request(PATH, sending(formOf(['file', noise(KIB), 'audio/wav'], ['model', 'm'])))).status,
    200,
  )
})

t.test('a stream is asked for in the form, in the words of forms', async t => {
  const { gateway } = await playing(
    t,
    answerBody('data: {"type":"transcript.text.done"}\n\n', { headers: { 'content-type': 'text/event-stream' } }),
  )
  const ask = (stream: string) =>
    gateway.request(PATH, sending(formOf(['model', 'm'], ['file', noise(10), 'audio/wav'], ['stream', stream])))
  for (const stream of ['true', 'True', '1', 'false', '0', '']) t.equal((await ask(stream)).status, 200, stream)
  const lines = await gateway.log.count(6, line => line.msg === 'request')
  t.same(lines.map(line => line.stream), [true, true, true, false, false, false]) // biome-ignore format: one line
  const error = compatibleError(t, await ask('yes'), 400)
  t.match(error, { param: 'stream', message: /true or false/ })
})

t.test('an Expect header is answered before the form is sent', async t => {
  const { gateway } = await playing(t, TEXT)
  const form = formOf(['model', 'm'], ['file', noise(100), 'audio/wav'])
  const answer = await gateway.request(PATH, sending(form, { headers: { expect: '100-continue' } }))
  t.equal(answer.status, 200)
})

t.test('the upstream’s head decides when an answer begins: an answer in pieces passes', async t => {
  const { gateway } = await playing(t, async peer => {
    await peer.send(head(200, { 'content-type': 'text/plain; charset=utf-8', 'transfer-encoding': 'chunked' }))
    for (const piece of ['1\n', '00:00:00,000 --> 00:00:01,000\n', 'hello\n\n']) await peer.send(chunk(piece))
    await peer.send(LAST_CHUNK)
  })
  const answer = await gateway.request(PATH, sending(formOf(['model', 'm'], ['file', noise(10), 'audio/wav'])))
  t.equal(answer.text, '1\n00:00:00,000 --> 00:00:01,000\nhello\n\n')
  t.equal(answer.header('content-type'), 'text/plain; charset=utf-8')
})

proveNoLeak(t)
