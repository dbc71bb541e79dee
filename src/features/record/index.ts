import { Glob } from '../../core/glob.js'
import type { RecordConfig } from '../../core/recording.js'
import type { TaskCallSent } from '../../kernel/outside-call.js'
import type { Feature } from '../../kernel/stages.js'
import { RecordingsSink } from '../../sinks/recordings/recordings-sink.js'
import { Recorder } from './recorder.js'

/** Exchanges with upstreams, as files, also those about tasks. Of requests that are passed on as they arrive, and of WebSockets, there are none. */
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
    if (config.routes?.includes(name) === false) return undefined
    const isMeant = filterOf(config)
    return {
      name: 'record',
      watches({ call, exchange }, request) {
        const { body } = request
        if (!isMeant(call.model, call.key) || !(body === null || body instanceof Uint8Array)) return undefined
        const { origin, secrets } = call.generation.reach(exchange.upstream)
        const about = { config, origin, secrets, route: name, model: exchange.model }
        return new Recorder(about, { ...request, body }, sink)
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
  const isMeant = config.routes?.includes(route) !== false && filterOf(config)(call.model, call.key)
  const { body } = request
  if (!isMeant || !(body === null || body instanceof Uint8Array)) return undefined
  const { origin, secrets } = generation.reach(upstream)
  return new Recorder({ config, origin, secrets, route, model: call.target }, { ...request, body }, sink)
}

function filterOf({ models, keys }: RecordConfig): (model: string, key: string) => boolean {
  const globs = models?.map(model => new Glob(model))
  return (model, key) =>
    (globs === undefined || globs.some(glob => glob.matches(model))) && (keys === undefined || keys.includes(key))
}
