// Preloaded into a gateway under measure: tells of its event loop and of its heap, when its parent asks. The collector is
// for itself alone: a gateway that finds one uses it.
import { monitorEventLoopDelay } from 'node:perf_hooks'

const collect = globalThis.gc
globalThis.gc = undefined
const delay = monitorEventLoopDelay({ resolution: 1 })
delay.enable()
process.on('message', question => {
  if (question === 'reset') delay.reset()
  if (question === 'heap') for (let i = 0; i < 4; i += 1) collect?.()
  const { heapUsed, external, arrayBuffers, rss } = process.memoryUsage()
  process.send({
    pause: delay.max / 1e6,
    usual: delay.percentile(99) / 1e6,
    late: delay.percentile(99.9) / 1e6,
    heapUsed,
    external,
    arrayBuffers,
    rss,
  })
})
process.channel?.unref()
