import type { Feature } from '../../kernel/stages.js'
import { account } from '../log/index.js'
import { TailService } from './service.js'

/** Request lines for those who read them by the admin API. Plans without an admin listener have no stage of it. */
export const tail: Feature<TailService> = {
  name: 'tail',
  open: kernel => new TailService(kernel),
  compile: ({ plan }, service) =>
    plan.admin === undefined
      ? undefined
      : {
          name: 'tail',
          record: call => {
            if (service.isRead) service.publish(account(call))
          },
        },
}
