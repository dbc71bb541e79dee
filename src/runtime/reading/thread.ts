import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { load } from '../../config/load.js'
import type { Config } from '../../core/config.js'
import { type Entries, type Head, type Order, type Question, SECTIONS, type Spots } from './messages.js'
import { Parcel } from './parcel.js'

/** The other side takes over so many values in one turn of its event loop, or one entry where that has more. */
const SLICE_VALUES = 2000

/** Reads and checks a configuration on a thread of its own, and hands it over as it is asked to: see {@link Reader}. */
async function serve(port: MessagePort): Promise<void> {
  const { text, ...order } = workerData as Order
  // A buffer comes over as the bytes that it is.
  const loaded = await load(text === undefined ? order : { ...order, text: Buffer.from(text) })
  const { config, problems, sources, watch, digest, parsed } = loaded
  const entries = config === undefined ? undefined : entriesOf(config)
  const head: Head = { problems, sources, watch, digest, parsed }
  port.postMessage(config === undefined ? head : { ...head, settings: new Parcel(settingsOf(config)).content })
  port.on('message', (question: Question) => {
    if (question === 'entries') port.postMessage(entries === undefined ? [] : nextOf(entries))
    else port.postMessage(question.locate.map(path => loaded.locate(path)) satisfies Spots)
  })
}

function settingsOf(config: Config): object {
  return { ...config, ...Object.fromEntries(SECTIONS.map(section => [section, undefined])) }
}

type Entry = Entries[number]

function* entriesOf(config: Config): Generator<{ readonly entry: Entry; readonly size: number }, undefined> {
  for (const section of SECTIONS) {
    for (const [name, value] of Object.entries(config[section])) {
      const { content, size } = new Parcel(value)
      yield { entry: [section, name, content], size }
    }
  }
}

function nextOf(entries: ReturnType<typeof entriesOf>): Entries {
  const slice: Entry[] = []
  let size = 0
  while (size < SLICE_VALUES) {
    const next = entries.next()
    if (next.done === true) break
    slice.push(next.value.entry)
    size += next.value.size
  }
  return slice
}

if (parentPort !== null) await serve(parentPort)
