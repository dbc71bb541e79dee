import { once } from 'node:events'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import t from 'tap'
import { GatewayError } from '../../src/core/errors.js'
import { Upload } from '../../src/kernel/upload.js'
import { NodeExchange } from '../../src/transport/node-exchange.js'

function message(): IncomingMessage {
  return new IncomingMessage(new Socket())
}

function uploadOf(request: IncomingMessage, limit: number): Upload {
  return new Upload(new NodeExchange(request, new ServerResponse(request)), limit)
}

t.test('F-U22 only a few chunks of an unread body are in memory', async t => {
  const request = message()
  const upload = uploadOf(request, 1 << 30)
  const piece = Buffer.alloc(64 * 1024)
  let offered = 0
  // A source that stops when it is told to, as a socket does.
  while (offered < 1024 && request.push(piece)) {
    offered++
    await new Promise(resolve => setImmediate(resolve))
  }
  t.ok(offered < 16, `${offered} pieces were taken`)
  t.ok(upload.size <= 4 * piece.length, `${upload.size} bytes have passed`)
})

t.test('bytes pass unchanged', async t => {
  const request = message()
  const upload = uploadOf(request, 100)
  request.push(Buffer.from('hello '))
  request.push(Buffer.from('world'))
  request.complete = true
  request.push(null)
  const chunks: Buffer[] = []
  for await (const chunk of upload) chunks.push(chunk as Buffer)
  t.equal(Buffer.concat(chunks).toString(), 'hello world')
  t.equal(upload.size, 11)
  t.equal(upload.starves, false)
})

t.test('a body over the limit ends with an error, and one at the limit does not', async t => {
  for (const [limit, fails] of [
    [10, true],
    [11, false],
  ] as const) {
    const request = message()
    const upload = uploadOf(request, limit)
    request.push(Buffer.from('hello world'))
    request.complete = true
    request.push(null)
    upload.resume()
    const [error] = (await Promise.race([once(upload, 'end').then(() => []), once(upload, 'error')]).catch(
      (cause: unknown) => [cause],
    )) as [unknown?]
    t.equal(error instanceof GatewayError && error.code === 'too_large', fails)
  }
})

t.test('a client that breaks off ends the body with an error', async t => {
  const request = message()
  const upload = uploadOf(request, 100)
  request.push(Buffer.from('hel'))
  upload.resume()
  const closed = new Promise<void>(resolve => upload.on('close', resolve))
  request.destroy()
  await closed
  t.match(upload.errored, { code: 'client_gone' })
  t.ok(upload.starves)
})
