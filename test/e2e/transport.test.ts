import t from 'tap'
import { CHAT_ANSWER, chatEvent, DONE, json, stream } from '../helpers/answers.js'
import { compatibleError } from '../helpers/expect.js'
import { formOf, sending } from '../helpers/forms.js'
import { oneUpstream, startTestGateway } from '../helpers/gateway.js'
import { type Script, startRawUpstream } from '../helpers/raw-upstream.js'

/** How the two clients write their requests: only undici puts the length before the other headers that it was given. */
const lines = (head: Buffer): string[] => head.toString('latin1').split('\r\n').sort()

for (const transport of ['fast', 'node'] as const) {
  t.test(`transport ${transport}: JSON, streams and uploads pass, and failures have the same names`, async t => {
    const upstream = await startRawUpstream(t)
    const gateway = await startTestGateway(t, oneUpstream(upstream.origin, `transport: ${transport}\n`))
    upstream.answer(json(CHAT_ANSWER), stream([chatEvent('ok'), DONE]), json({ text: 'ok' }))
    t.same((await gateway.chat()).json(), CHAT_ANSWER)
    t.equal((await gateway.chat({ stream: true })).text, chatEvent('ok') + DONE)
    const form = formOf(['model', 'm'], ['file', Buffer.alloc(300_000, 'x'), 'audio/wav'])
    t.same((await gateway.request('/v1/audio/transcriptions', sending(form))).json(), { text: 'ok' })
    const failures: [Script, string][] = [
      [async peer => peer.reset(), 'upstream_unavailable'],
      [peer => peer.finish(), 'upstream_unavailable'],
      [peer => peer.send('HTTP/1.1 200 OK\r\ncontent-length: 1, 1\r\n\r\na'), 'bad_upstream_response'],
      [peer => peer.send(`HTTP/1.1 200 OK\r\na: ${'x'.repeat(70_000)}\r\n\r\n`), 'bad_upstream_response'],
    ]
    for (const [script, code] of failures) {
      upstream.answer(script)
      compatibleError(t, await gateway.chat(), 502, code)
    }
  })
}

t.test('an upstream cannot see which transport it is', async t => {
  const heads: string[][] = []
  for (const transport of ['fast', 'node']) {
    const upstream = await startRawUpstream(t)
    upstream.answer(json(CHAT_ANSWER))
    const gateway = await startTestGateway(t, oneUpstream(upstream.origin, `transport: ${transport}\n`))
    await gateway.chat()
    const [request] = upstream.requests.items
    const host = new URL(upstream.origin).host
    heads.push(
      lines(request?.head.raw ?? Buffer.alloc(0)).map(line =>
        line.replace(host, 'HOST').replace(/^(x-request-id|authorization): .*/, '$1'),
      ),
    )
  }
  t.same(heads[0], heads[1])
})
