import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setImmediate, setTimeout } from 'node:timers/promises'
import type { Step } from './steps.js'

/** Where the bytes that went out are counted, and who ended the exchange. */
export interface Ledger {
  sent(bytes: number): void
  /** The simulator breaks the connection on purpose: what follows is not the client's doing. */
  broken(): void
}

/**
 * Does the steps to a response, no faster than the client reads. Resolves when the last one is done or the connection
 * is gone; never rejects because a client went away.
 */
export async function perform(response: ServerResponse, steps: Iterable<Step>, ledger: Ledger): Promise<void> {
  const gone = new AbortController()
  if (response.destroyed) return
  response.once('close', () => gone.abort())
  const performer = new Performer(response, gone.signal, ledger)
  try {
    for (const step of steps) {
      await performer.take(step)
      if (gone.signal.aborted) return
    }
  } catch (error) {
    if (!gone.signal.aborted && !response.destroyed) throw error
  }
}

class Performer {
  readonly #response: ServerResponse
  readonly #gone: AbortSignal
  readonly #ledger: Ledger

  constructor(response: ServerResponse, gone: AbortSignal, ledger: Ledger) {
    this.#response = response
    this.#gone = gone
    this.#ledger = ledger
  }

  async take(step: Step): Promise<void> {
    switch (step.do) {
      case 'wait':
        return this.#wait(step.milliseconds)
      case 'informational':
        this.#response.writeProcessing()
        return this.#response.writeEarlyHints({ link: '</hint>; rel=preload' })
      case 'head':
        this.#response.writeHead(step.status, step.headers.flat())
        return
      case 'write':
        return this.#write(step.bytes)
      case 'end':
        return this.#end(step.trailers)
      case 'close':
        return this.#break(() => this.#response.socket?.destroySoon())
      case 'reset':
        return this.#break(() => this.#response.socket?.resetAndDestroy())
      case 'raw':
        this.#response.socket?.write(step.bytes)
        return this.#break(() => this.#response.socket?.destroySoon())
      case 'hang':
        return this.#hang(step.ping)
    }
  }

  async #wait(milliseconds: number): Promise<void> {
    this.#flushHead()
    const options = { signal: this.#gone }
    await (milliseconds === 0 ? setImmediate(undefined, options) : setTimeout(milliseconds, undefined, options))
  }

  async #write(bytes: Uint8Array): Promise<void> {
    this.#ledger.sent(bytes.length)
    if (!this.#response.write(bytes)) await once(this.#response, 'drain', { signal: this.#gone })
  }

  async #end(trailers: Readonly<Record<string, string>> | undefined): Promise<void> {
    if (trailers !== undefined) this.#response.addTrailers(trailers)
    this.#response.end()
    if (!this.#response.writableFinished) await once(this.#response, 'finish', { signal: this.#gone })
  }

  async #hang(ping: (Step & { do: 'hang' })['ping']): Promise<void> {
    this.#flushHead()
    while (ping !== undefined) {
      await this.#wait(ping.every)
      await this.#write(ping.bytes)
    }
    await once(this.#response, 'close')
  }

  /** The head waits for the first bytes of the body, to leave with them, but not for anything else. */
  #flushHead(): void {
    if (this.#response.headersSent) this.#response.flushHeaders()
  }

  /** What was written leaves first: a reset throws away what the kernel has not yet taken. */
  async #break(act: () => void): Promise<void> {
    this.#ledger.broken()
    this.#flushHead()
    const { socket } = this.#response
    if (socket?.writable) await new Promise(resolve => socket.write('', resolve))
    await setImmediate()
    act()
  }
}
