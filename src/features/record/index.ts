import { recordFilter } from '../../core/recording.js'
import type { TaskCallSent } from '../../kernel/outside-call.js'
import type { Feature } from '../../kernel/stages.js'
import { SOCKET_METHOD } from '../../kernel/upgrade.js'
import { RecordingsSink } from '../../sinks/recordings/recordings-sink.js'
import { presentedIn } from './presented.js'
import { Recorder } from './recorder.js'

/** Exchanges with upstreams and their WebSockets, as files, also those about tasks. Of requests that are passed on as they arrive there are none. */
export const record: Feature<RecordingsSink> = {
  name: 'record',
  open(kernel) {
    const sink = new RecordingsSink((fields, message) => kernel.onNotice(fields, message))
    kernel.observeTask = call => taskRecorder(call, sink)
    return sink
  },
  compile({ plan, route }, sink) {
    const { record: config } = plan
    if (config === undefined || route === undefined) return undefined
    const name = route.protocol?.name ?? route.id
    const isMeant = recordFilter(config, name)
    if (isMeant === undefined) return undefined
    return {
      name: 'record',
      watches({ call, exchange }, request) {
        const { body } = request
        if (!isMeant(call.model, call.key) || !(body === null || body instanceof Uint8Array)) return undefined
        const upstream = call.generation.reach(exchange.upstream)
        const about = { config, upstream, presented: presentedIn(call, route), route: name, model: exchange.model }
        const method = route.tunnel === undefined ? request.method : SOCKET_METHOD
        return new Recorder(about, { ...request, method, body }, sink)
      },
    }
  },
}

/** Polls of a task, its content, and what else an upstream is asked about one. */
function taskRecorder(call: TaskCallSent, sink: RecordingsSink): Recorder | undefined {
  const { generation, upstream, request } = call
  const { record: config, routes } = generation.plan
  if (config === undefined) return undefined
  const route = routes.find(({ id }) => id === call.route)?.protocol?.name ?? call.route
  const isMeant = recordFilter(config, route)?.(call.model, call.key) === true
  const { body } = request
  if (!isMeant || !(body === null || body instanceof Uint8Array)) return undefined
  const about = { config, upstream: generation.reach(upstream), presented: [], route, model: call.target }
  return new Recorder(about, { ...request, body }, sink)
}
