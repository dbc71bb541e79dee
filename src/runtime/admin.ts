import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { AdminHost } from '../admin/host.js'
import { TABLE } from '../admin/routes/index.js'
import { followSessions } from '../admin/routes/session.js'
import { createAdminServer } from '../admin/server.js'
import { answerPeers } from '../admin/workers.js'
import type { AdminPlan } from '../core/process-config.js'
import type { KeyTerms } from '../features/keys/record.js'
import type { Kernel } from '../kernel/kernel.js'
import type { Log } from '../sinks/log.js'
import { changeLevel, followLevel } from './own-log.js'
import { StartError } from './problems.js'
import { listen } from './server.js'
import { faultsOf, holderOf, warningsOf } from './store-keys.js'
import { TaskStore } from './task-store.js'

/** Connections that wait to be accepted. */
const BACKLOG = 64

/** What the admin API does with the gateway. */
interface Parts
  extends Pick<
    AdminHost,
    | 'drain'
    | 'restart'
    | 'reload'
    | 'rollback'
    | 'history'
    | 'limits'
    | 'health'
    | 'routing'
    | 'metrics'
    | 'tail'
    | 'watched'
    | 'draft'
    | 'simulator'
    | 'openSocket'
  > {
  readonly kernel: Kernel
  readonly running: () => Pick<AdminHost, 'plan' | 'config'>
  readonly log: Log
}

/** The admin listener of a gateway, where its settings ask for one. */
export class Admin {
  readonly #settings: AdminPlan
  readonly #server: Server
  readonly #log: Log

  constructor(settings: AdminPlan, { kernel, running, log, ...parts }: Parts) {
    this.#settings = settings
    this.#log = log
    answerPeers(kernel)
    followSessions(kernel)
    followLevel(log, kernel.peers)
    const host: AdminHost = {
      ...parts,
      kernel,
      holderOf: key => holderOf(key, running().plan),
      get plan() {
        return running().plan
      },
      get config() {
        return running().config
      },
      log: {
        get state() {
          return log.state
        },
        level: level => changeLevel(level, log, kernel.peers),
      },
      faultsOf: (name, terms) => faultsOf(name, terms as KeyTerms, running().plan),
      warningsOf: (name, terms) => warningsOf(name, terms as KeyTerms, running().plan, running().config),
      tasks: (filter, limit, after) =>
        TaskStore.of(kernel.store, running().plan).page(filter as Parameters<TaskStore['page']>[0], limit, after),
    }
    this.#server = createAdminServer(settings, {
      table: TABLE,
      host,
      log: fields => log[fields.error === undefined ? 'info' : 'error'](fields, 'admin request'),
    })
  }

  /** `http://127.0.0.1:8081`; undefined where it does not listen. */
  get origin(): string | undefined {
    if (!this.#server.listening) return undefined
    const { address, port, family } = this.#server.address() as AddressInfo
    const scheme = this.#settings.tls === undefined ? 'http' : 'https'
    return `${scheme}://${family === 'IPv6' ? `[${address}]` : address}:${port}`
  }

  /**
   * Throws {@link StartError} where the address cannot be used. A port of the file that another process has is reported, and
   * requests are served all the same.
   */
  async listen(): Promise<void> {
    const { host, port, isRequired } = this.#settings
    const words = { host: 'admin.host', port: 'admin.port or --admin-port' }
    try {
      await listen(this.#server, { host, port, backlog: BACKLOG }, words)
    } catch (error) {
      if (isRequired || !(error instanceof StartError && error.isInUse)) throw error
      this.#log.warn({ error: error.message }, 'no admin API, console and metrics: their port is in use')
    }
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}
