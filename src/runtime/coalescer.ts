interface CoalescerOptions {
  readonly run: () => Promise<void>
  /** Milliseconds without a further call before the task runs. */
  readonly quiet: number
  /** Longest time in milliseconds that constant calls can put the task off. */
  readonly atMost: number
}

/**
 * idle → waiting → running → idle; calls while it runs make it `queued`: one more run follows, however many calls came.
 */
type State =
  | { readonly name: 'idle' | 'running' | 'queued' | 'closed' }
  | { readonly name: 'waiting'; readonly timer: NodeJS.Timeout; readonly deadline: number }

/** Turns bursts of calls into single runs of one task that never overlap. */
export class Coalescer {
  readonly #options: CoalescerOptions
  #state: State = { name: 'idle' }

  constructor(options: CoalescerOptions) {
    this.#options = options
  }

  /** Asks for a run soon. */
  call(): void {
    switch (this.#state.name) {
      case 'idle':
        this.#wait(performance.now() + this.#options.atMost)
        break
      case 'waiting':
        clearTimeout(this.#state.timer)
        this.#wait(this.#state.deadline)
        break
      case 'running':
        this.#state = { name: 'queued' }
    }
  }

  /** Cancels what waits. A run under way ends, and nothing follows it. */
  close(): void {
    if (this.#state.name === 'waiting') clearTimeout(this.#state.timer)
    this.#state = { name: 'closed' }
  }

  #wait(deadline: number): void {
    const left = Math.max(0, deadline - performance.now())
    const timer = setTimeout(() => void this.#run(), Math.min(this.#options.quiet, left))
    this.#state = { name: 'waiting', timer, deadline }
  }

  async #run(): Promise<void> {
    this.#state = { name: 'running' }
    await this.#options.run()
    const again = this.#named('queued')
    if (this.#named('closed')) return
    this.#state = { name: 'idle' }
    if (again) this.call()
  }

  #named(name: State['name']): boolean {
    return this.#state.name === name
  }
}
