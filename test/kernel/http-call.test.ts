import { getEventListeners } from 'node:events'
import t from 'tap'
import { type Dispatcher, send } from '../../src/kernel/http-call.js'
import type { UpstreamController, UpstreamHandler } from '../../src/net/pools.js'

const CONTROLLER: UpstreamController = {
  paused: false,
  pause: () => undefined,
  resume: () => undefined,
  abort: () => undefined,
}

/** A pool whose upstream does this with each request. */
function poolOf(answer: (handler: UpstreamHandler) => void): Dispatcher {
  return {
    dispatch: (_request, handler) => {
      setImmediate(() => {
        handler.onRequestStart(CONTROLLER)
        answer(handler)
      })
      return 'sent'
    },
    finished: () => undefined,
    withdraw: () => undefined,
  }
}

t.test('a call that is over leaves nothing with the signal of the request that it was made for', async t => {
  const { signal } = new AbortController()
  const request = { method: 'GET', path: '/', headers: [], body: null }
  const times = { queue: 60_000, connect: 60_000, answer: 60_000 }
  const options = { key: 'k', ...times, maxBytes: 100, signal }
  const whole = poolOf(handler => {
    handler.onResponseStart(CONTROLLER, 200, {})
    handler.onResponseData(CONTROLLER, Buffer.from('answer'))
    handler.onResponseEnd(CONTROLLER)
  })
  const first = send(whole, request, options)
  t.equal(getEventListeners(signal, 'abort').length, 1)
  t.equal((await first).body.toString(), 'answer')
  const broken = poolOf(handler => handler.onResponseError(CONTROLLER, new Error('broken')))
  await t.rejects(send(broken, request, options), { name: 'NoResponseError' })
  t.equal(getEventListeners(signal, 'abort').length, 0)
})
