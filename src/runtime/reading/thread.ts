import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { load } from '../../config/load.js'
import type { Entries, Head, Order, Question, Spots } from './messages.js'
import { settingsOf, slicesOf } from './slices.js'

/** Reads and checks a configuration on a thread of its own, and hands it over as it is asked to: see {@link Reader}. */
async function serve(port: MessagePort): Promise<void> {
  const { text, ...order } = workerData as Order
  // A buffer comes over as the bytes that it is.
  const loaded = await load(text === undefined ? order : { ...order, text: Buffer.from(text) })
  const { config, problems, sources, watch, digest, parsed, documents } = loaded
  const slices = config === undefined ? undefined : slicesOf(config)
  const head: Head = { problems, sources, watch, digest, parsed, documents }
  port.postMessage(config === undefined ? head : { ...head, settings: settingsOf(config) })
  port.on('message', (question: Question) => {
    if (question === 'entries') port.postMessage((slices?.next().value ?? []) satisfies Entries)
    else port.postMessage(question.locate.map(path => loaded.locate(path)) satisfies Spots)
  })
}

if (parentPort !== null) await serve(parentPort)
