import { Glob } from '../../core/glob.js'
import type { RecordConfig } from '../../core/recording.js'
import type { Call } from '../../kernel/call.js'
import type { Feature } from '../../kernel/stages.js'
import { RecordingsSink } from '../../sinks/recordings/recordings-sink.js'
import { Recorder } from './recorder.js'

/** Exchanges with upstreams, as files. Of requests that are passed on as they arrive, and of WebSockets, there are none. */
export const record: Feature<RecordingsSink> = {
  name: 'record',
  open: kernel => new RecordingsSink((fields, message) => kernel.onNotice(fields, message)),
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
        if (!isMeant(call) || !(body === null || body instanceof Uint8Array)) return undefined
        const { origin, secrets } = call.generation.reach(exchange.upstream)
        const about = { config, origin, secrets, route: name, model: exchange.model }
        return new Recorder(about, { ...request, body }, sink)
      },
    }
  },
}

function filterOf({ models, keys }: RecordConfig): (call: Call) => boolean {
  const globs = models?.map(model => new Glob(model))
  return call =>
    (globs === undefined || globs.some(glob => glob.matches(call.model))) &&
    (keys === undefined || keys.includes(call.key))
}
