import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { startTestGateway } from '../helpers/gateway.js'
import { sameAsGolden } from '../helpers/golden-file.js'
import { listening } from '../helpers/listening.js'
import { command } from './in-process.js'

const FILE = `version: 1
listen: { host: 127.0.0.1, port: 0 }
keys:
  narrow: { secret: { env: NARROW_KEY }, models: [other] }
  caller: { secret: { env: CALLER_KEY }, models: ["*"] }
upstreams:
  sim: { kind: simulator }
  texts: { kind: simulator-chat }
models:
  sim-text: texts
  "sim-text?*": texts
  sim-image: sim
  sim-speech: sim
  sim-transcribe: sim
  sim-embed: sim
  sim-rerank: sim
  sim-moderate: sim
  sim-video: sim
  "sim-video?*": sim
  "sim-embed?*": sim
  other: sim
`
/** The simulator's embeddings have a number other than 0 for each word. */
const MANY_WORDS = Array.from({ length: 400 }, (_, at) => `word${at}`).join(' ')
/** A PNG of one point. */
const POINT = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

t.test('an answer whose transfer is cut is an error, and no file is written', async t => {
  const chunk = (delta: object, finish_reason: string | null = null): string =>
    `data: ${JSON.stringify({ choices: [{ delta, finish_reason }] })}\n\n`
  const server = createServer((request, response) => {
    const isStream = request.url === '/v1/chat/completions'
    response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' })
    void text(request).then(asked => {
      const { model } = JSON.parse(asked) as { readonly model: string }
      const half = isStream ? chunk({ content: 'half' }) : '{ "half": '
      if (model === 'cut' || !isStream) response.write(half, () => response.destroy())
      else response.end(model === 'ended' ? half + chunk({}, 'stop') : half)
    })
  })
  const port = await listening(t, server)
  const folder = t.testdir({})
  const attempt = (args: readonly string[], input = '', isTTY = false) =>
    command(['try', ...args, '--at', `http://127.0.0.1:${port}`], { env: { GATEWAY_KEY: 'gw-key' }, input, isTTY })
  const file = join(folder, 'x.mp3')
  const cuts = [
    await attempt(['cut', 'hi', '--speak', file]),
    await attempt(['cut', 'hi', '--embed']),
    await attempt(['cut', 'hi']),
    await attempt(['short', 'hi']),
  ]
  for (const { code, stderr } of cuts)
    t.strictSame({ code, stderr }, { code: 1, stderr: 'error: the answer broke off\n' })
  t.notOk(existsSync(file))
  t.match(await attempt(['ended', 'hi']), { code: 0, stdout: 'half\n' })
  const conversation = await attempt(['cut'], 'One.\nTwo.\n', true)
  t.equal(conversation.code, 0)
  t.equal(conversation.stderr.match(/error: the answer broke off/g)?.length, 2)
})

t.test('gateway try asks models of a running gateway', async t => {
  const { origin, key, folder, gateway } = await startTestGateway(t, FILE, {
    env: { NARROW_KEY: 'gw-a-key-of-few-models' },
  })
  const env = { CALLER_KEY: key, NARROW_KEY: 'gw-a-key-of-few-models' }
  const file = join(folder, 'gateway.yaml')
  const attempt = (args: readonly string[], input = '', isTTY = false) =>
    command(['try', ...args, '--at', origin, '-f', file], { env, input, isTTY })

  await t.test('the answer comes on standard output, what it took on standard error', async t => {
    const { code, stdout, stderr } = await attempt(['sim-text', 'Say', 'hello.'])
    t.equal(code, 0, stderr)
    sameAsGolden(t, 'try', `${stdout}--- standard error\n${stderr.replaceAll(/\d+ ms/g, 'N ms')}`)
    t.match(stderr, /^\d+ \+ \d+ tokens, first after \d+ ms, \d+ ms\n$/)
  })

  await t.test('GATEWAY_KEY and an address take the place of a file; standard input that of a text', async t => {
    const cut = await command(['try', 'sim-text', '--at', `${origin}/v1`], {
      env: { GATEWAY_KEY: key },
      input: 'From a pipe.',
    })
    t.match(cut, { code: 0, stdout: /From a pipe/ })
    t.match(await attempt(['sim-text']), { code: 2, stderr: /give a text/ })
  })

  await t.test('images and sounds go with the question', async t => {
    const [image, sound] = [join(folder, 'point.png'), join(folder, 'a.wav')]
    writeFileSync(image, Buffer.from(POINT, 'base64'))
    t.match(await attempt(['sim-text', 'What is this?', '--image', image]), { code: 0, stdout: /.+/ })
    t.match(JSON.stringify(gateway.simulated.at(-1)), `data:image/png;base64,${POINT}`)
    t.match(await attempt(['sim-text', 'What?', '--image', file]), { code: 2, stderr: /is not a \.png/ })
    t.match(await attempt(['sim-text', 'What?', '--audio', sound]), { code: 2, stderr: /ENOENT/ })
  })

  await t.test('speech, images and transcripts', async t => {
    const [spoken, drawn] = [join(folder, 'out.wav'), join(folder, 'out.png')]
    t.match(await attempt(['sim-speech', 'Good morning.', '--speak', spoken]), {
      code: 0,
      stdout: /out\.wav: \d+ bytes/,
    })
    t.equal(readFileSync(spoken).subarray(0, 4).toString(), 'RIFF')
    t.match(await attempt(['sim-image', 'a house', '--draw', drawn]), { code: 0 })
    t.equal(readFileSync(drawn).subarray(1, 4).toString(), 'PNG')
    t.match(await attempt(['sim-transcribe', '--transcribe', spoken]), { code: 0, stdout: /.+/ })
    t.match(await attempt(['sim-speech', 'x', '--speak', 'out.txt']), { code: 2, stderr: /\.mp3/ })
  })

  await t.test('embeddings, ranks and moderations', async t => {
    const golden = await Promise.all([
      attempt(['sim-embed', MANY_WORDS, '--embed']),
      attempt(['sim-rerank', 'Who wrote it?', '--rerank', 'It rains.', '--rerank', 'Ada wrote it.']),
      attempt(['sim-moderate', 'You stupid idiot.', '--moderate']),
      attempt(['sim-moderate', 'Good morning.', '--moderate']),
    ])
    for (const { code, stderr } of golden) t.match({ code, stderr }, { code: 0, stderr: /^$/ })
    sameAsGolden(t, 'try-operations', golden.map(({ stdout }) => stdout).join('---\n'))
    t.match(await attempt(['sim-embed', '--embed'], 'From a pipe.'), { code: 0, stdout: /^\d+ dimensions: / })
    t.match(await attempt(['sim-embed?status=400', 'x', '--embed']), { code: 1, stderr: /error: 400/ })
    t.match(await attempt(['sim-embed', 'x', '--embed', '--moderate']), { code: 2, stderr: /--embed and --moderate/ })
  })

  await t.test('an image is changed', async t => {
    const [image, changed] = [join(folder, 'before.png'), join(folder, 'after.png')]
    writeFileSync(image, Buffer.from(POINT, 'base64'))
    t.match(await attempt(['sim-image', 'Add a cat.', '--edit', image, '--draw', changed]), {
      code: 0,
      stdout: /after\.png: \d+ bytes/,
    })
    t.equal(readFileSync(changed).subarray(1, 4).toString(), 'PNG')
    t.match(JSON.stringify(gateway.simulated.at(-1)), /images\/edits/)
    t.match(await attempt(['sim-image', 'x', '--edit', image]), { code: 2, stderr: /--edit wants --draw/ })
    t.match(await attempt(['sim-image', 'x', '--edit', file, '--draw', changed]), { code: 2, stderr: /is not a \.png/ })
  })

  await t.test('a video is waited for, as long as is said', async t => {
    const made = join(folder, 'made.mp4')
    t.match(await attempt(['sim-video?takes=1s', 'a house', '--video', made]), {
      code: 0,
      stdout: /made\.mp4: \d+ bytes/,
      stderr: /^task_\S+ has begun\n$/,
    })
    t.equal(readFileSync(made).subarray(4, 8).toString(), 'ftyp')
    const late = await attempt(['sim-video?takes=10m', 'a house', '--video', join(folder, 'no.mp4'), '--wait', '100ms'])
    t.match(late, { code: 1, stderr: /not done yet: .*\/v1\/videos\/task_/ })
    t.match(await attempt(['sim-video?ends=failed', 'x', '--video', made]), { code: 1, stderr: /was not made: .+/ })
    t.match(await attempt(['sim-video', 'x', '--video', made, '--wait', 'long']), { code: 2, stderr: /duration/ })
  })

  await t.test('its help fits a screen', async t => {
    const { stdout } = await command(['try', '--help'])
    sameAsGolden(t, 'try-help', stdout)
    const lines = stdout.trimEnd().split('\n')
    t.ok(lines.length <= 40 && lines.every(line => line.length <= 80), stdout)
  })

  await t.test('on a terminal without a text it is a conversation, which an error does not end', async t => {
    const { code, stdout, stderr } = await attempt(['sim-text'], 'My name is Ada.\nWho am I?\n', true)
    t.equal(code, 0, stderr)
    t.equal(stdout.trim().split('\n').length, 2)
    t.equal(stderr.match(/tokens/g)?.length, 2)
    const failing = await attempt(['sim-text?status=400'], 'One.\nTwo.\n', true)
    t.equal(failing.code, 0)
    t.equal(failing.stderr.match(/error: 400/g)?.length, 2)
  })

  await t.test('an error is what the gateway says, with its status', async t => {
    t.match(await attempt(['nothing', 'hello']), { code: 1, stderr: /error: 404: .*nothing/ })
    t.match(await attempt(['sim-text', 'hello', '--key', 'narrow']), { code: 1, stderr: /404/ })
    t.match(await attempt(['sim-text', 'hello', '--key', 'none']), { code: 2, stderr: /no key "none"/ })
    t.match(await attempt(['sim-text?cut=3', 'hello']), { code: 1, stderr: /error: / })
    const closed = await command(['try', 'm', 'x', '--at', 'http://127.0.0.1:9'], { env: { GATEWAY_KEY: key } })
    t.match(closed, { code: 1, stderr: /cannot be reached/ })
  })
})

t.test('what a gateway says in an error does not steer the terminal', async t => {
  const server = createServer((_, response) => {
    response.writeHead(400, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ error: { message: 'one\n\ttwo\u001b]0;title\u0007' } }))
  })
  const at = `http://127.0.0.1:${await listening(t, server)}`
  const attempt = (args: readonly string[], isTTY: boolean) =>
    command(['try', 'm', ...args, '--at', at], { env: { GATEWAY_KEY: 'gw-key' }, input: 'Hi.\n', isTTY })
  const expected = 'error: 400: one\n\ttwo\ufffd]0;title\ufffd\n'
  t.match(await attempt(['hi'], false), { code: 1, stderr: expected })
  t.match(await attempt([], true), { code: 0, stderr: expected })
})

t.test('nothing is asked where the file for the answer cannot be written', async t => {
  let asked = 0
  const server = createServer((_, response) => {
    asked++
    response.end()
  })
  const at = `http://127.0.0.1:${await listening(t, server)}`
  const folder = t.testdir({ 'plain.txt': '', 'folder.mp3': {} })
  for (const [option, file, why] of [
    ['--speak', 'none/a.mp3', 'ENOENT'],
    ['--speak', 'folder.mp3', 'EISDIR'],
    ['--draw', 'plain.txt/a.png', 'ENOTDIR'],
    ['--video', 'none/a.mp4', 'ENOENT'],
  ] as const) {
    const args = ['try', 'm', 'hi', option, join(folder, file), '--at', at]
    const { code, stderr } = await command(args, { env: { GATEWAY_KEY: 'gw-key' } })
    t.strictSame([code, stderr], [1, `error: ${join(folder, file)} cannot be written (${why})\n`])
  }
  t.equal(asked, 0)
  t.notOk(existsSync(join(folder, 'none')))
})
