import type { Scope } from '../../core/bounds.js'
import type { LedgerRecord } from '../../core/ledger.js'
import type { Plan } from '../../core/plan.js'
import type { Kernel } from '../../kernel/kernel.js'
import type { Feature, Service } from '../../kernel/stages.js'
import type { TaskEnd } from '../../kernel/task-end.js'
import { Book } from './book.js'
import { ChargedTasks } from './charged-tasks.js'
import { limitsStage } from './stage.js'
import { settleDebt } from './task-spending.js'
import { answerUsage, shownLimits } from './usage.js'

/** The book of the process. */
class LimitsService implements Service {
  readonly book: Book
  readonly #charged: ChargedTasks
  /** Called with what a task has cost, once it is charged: by one process, and once. */
  onTaskCharged: (record: Omit<LedgerRecord, 'charges'>) => void = () => undefined

  constructor(kernel: Kernel) {
    const { type } = kernel.generation.plan.store
    // Another process of this machine may use a file: the next one, while this one drains or after it was killed.
    const isShared = type !== 'memory'
    this.#charged = new ChargedTasks(isShared ? kernel.store : undefined)
    this.book = new Book(kernel.store.accounts, {
      isShared,
      isLocal: type === 'memory' || type === 'file',
      isDurable: type !== 'memory',
      onFault: error => kernel.onStoreFault(error),
      peers: kernel.peers,
    })
    this.adopt(kernel.generation.plan)
  }

  adopt(plan: Plan): void {
    const { accounting } = plan
    if (accounting !== undefined) this.book.adopt(accounting.timeZone, (type, name) => plan.scopeOf(type, name))
  }

  /** For each scope, its bounds and how much of them is used. */
  shown(scopes: readonly Scope[]): ReturnType<typeof shownLimits> {
    return shownLimits(scopes, this.book)
  }

  async onTaskEnd(end: TaskEnd): Promise<void> {
    const record = await settleDebt(this.book, end)
    if (record !== undefined && (await this.#charged.take(end))) this.onTaskCharged(record)
  }

  close(): Promise<void> {
    return this.book.close()
  }
}

/** Limits and budgets of keys, groups, models and upstreams, and the ledger. Plans without any have no stage of it. */
export const limits: Feature<LimitsService> = {
  name: 'limits',
  open: kernel => new LimitsService(kernel),
  compile({ plan, route }, { book }) {
    const stage = plan.accounting === undefined ? undefined : limitsStage(plan, route, book)
    // Without limits the answer says that there are none.
    return route?.answer === 'usage' ? { name: 'limits', ...stage, serve: call => answerUsage(call, book) } : stage
  },
}
