/** Longest event that is waited for, characters. */
const MAX_EVENT_CHARS = 32 * 1024 * 1024

interface StreamEvent {
  /** Empty where it has no name. */
  readonly event: string
  readonly data: string
}

/** The events of a stream that have data, as the gateway writes them: with single line feeds. */
export async function* eventsOf(body: ReadableStream<Uint8Array> | null): AsyncGenerator<StreamEvent, void, void> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const piece of (body ?? []) as AsyncIterable<Uint8Array>) {
    const blocks = (rest + decoder.decode(piece, { stream: true })).split('\n\n')
    rest = blocks.pop() ?? ''
    if (rest.length > MAX_EVENT_CHARS) throw new Error(`an event has more than ${MAX_EVENT_CHARS} characters`)
    for (const block of blocks) {
      const event = /^event: ?(.*)$/m.exec(block)?.[1] ?? ''
      const data = [...block.matchAll(/^data: ?(.*)$/gm)].map(match => match[1] ?? '').join('\n')
      if (data !== '') yield { event, data }
    }
  }
}
