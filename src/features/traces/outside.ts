import { newSpanId, traceparentOf } from '../../core/trace.js'
import type { OutsideCall, WatchedCall } from '../../kernel/outside-call.js'
import { addressOf } from '../metrics/names.js'
import type { Sampler } from './sampling.js'
import type { TraceWriter } from './trace-writer.js'

const FIRST_FAILURE_STATUS = 400

/**
 * Watches a call about a task, or a notification: a span within that of the request that began the task. It is sent if the
 * request's spans are, by their share, or if it fails.
 */
export function watch(call: OutsideCall, sampler: Sampler, writer: TraceWriter): WatchedCall {
  const { trace, name, task, method, upstream, origin } = call
  const id = newSpanId()
  const isSampled = sampler.isSampled({ id: trace.id, isSampled: trace.sampled })
  const started = performance.now()
  return {
    traceparent: traceparentOf(trace.id, id, isSampled),
    ended: status => {
      const isError = status === undefined || status >= FIRST_FAILURE_STATUS
      if (!isSampled && !sampler.isKept(trace, { isError, isSlow: false })) return
      const ended = performance.now()
      const [address, port] = addressOf(origin)
      writer.write(clock => [
        {
          trace: trace.id,
          id,
          parent: trace.span,
          name: name === 'webhook' ? name : `task ${name}`,
          kind: 'client',
          started: clock.at(started),
          ended: clock.at(ended),
          attributes: {
            'http.request.method': method,
            'http.response.status_code': status,
            'server.address': address === '' ? undefined : address,
            'server.port': port === '' ? undefined : Number(port),
            'gateway.upstream': upstream,
            'gateway.task': task,
            'error.type': isError ? String(status ?? 'no_answer') : undefined,
          },
          isError,
        },
      ])
    },
  }
}
