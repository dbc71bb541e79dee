import { RequestView } from '../wire/request-view.js'
import type { Body } from './body.js'
import type { Call } from './call.js'
import { threadsOf } from './threads.js'

const NO_GROUPS: readonly string[] = []

/** What conditions and strategies may read of a call. */
export function viewOf(call: Call, body: Body): RequestView {
  return new RequestView({
    body: body.type === 'bytes' ? body.bytes : undefined,
    form: body.type === 'form' ? { size: body.spool.length, value: name => body.value(name) } : undefined,
    stream: call.stream,
    key: call.key,
    groups: call.caller?.policy?.groups ?? NO_GROUPS,
    header: name => {
      const value = call.request.headers[name]
      return typeof value === 'string' ? value : value?.[0]
    },
    thread: response => threadsOf(call).digestOf(call.key, response),
    paths: call.route?.protocol?.amounts,
  })
}
