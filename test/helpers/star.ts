import { setImmediate as turn } from 'node:timers/promises'
import { Link } from '../../src/runtime/workers/link.js'
import { Hub, WorkerPeers } from '../../src/runtime/workers/peers.js'

/** A supervisor and its workers in one process. Frames arrive in later turns of the event loop. */
export class Star {
  readonly hub = new Hub()
  /** Numbers of workers that take no frames. */
  readonly stuck = new Set<number>()
  readonly #links = new Map<number, Link>()

  /** A star of so many workers, which are ready. */
  static async of(count: number): Promise<{ star: Star; workers: WorkerPeers[] }> {
    const star = new Star()
    const workers: WorkerPeers[] = []
    for (let number = 1; number <= count; number++) workers.push(await star.join(number))
    return { star, workers }
  }

  async join(number: number): Promise<WorkerPeers> {
    const near: Link = new Link((frame, sent) => {
      setImmediate(() => {
        if (this.stuck.has(number)) return
        sent()
        far.receive(frame)
      })
    })
    const far: Link = new Link((frame, sent) => {
      setImmediate(() => {
        sent()
        near.receive(frame)
      })
    })
    this.hub.join(number, near)
    this.#links.set(number, near)
    const peers = new WorkerPeers(number, far)
    for (let turns = 0; turns < 3; turns++) await turn()
    return peers
  }

  /** A worker has ended. */
  leave(number: number): void {
    this.hub.leave(number)
    this.#links.get(number)?.close()
  }
}
