import type { Feature, Service } from '../../src/kernel/stages.js'
import { startGateway } from '../../src/runtime/gateway.js'
import { withFeature } from './metered.js'

/**
 * A process of its own: a gateway whose stage keeps a note with each task, and tells its parent where it listens and which tasks
 * have ended. Arguments: the configuration's file.
 */
const noting: Feature<Service> = {
  name: 'noting',
  open: () => ({ onTaskEnd: end => void process.send?.({ end }) }),
  compile: ({ route }) =>
    route?.task?.action === 'submit'
      ? { name: 'noting', beforeAttempt: attempt => attempt.keep('noting', { number: attempt.number }) as undefined }
      : undefined,
}

const gateway = await startGateway({ file: process.argv[2] ?? '', features: withFeature(noting), watch: false })
process.send?.({ origin: gateway.origin })
