export type { SimulatorEntry } from './entry.js'
export { FAULTS, type Fault, type FaultName, type Faults } from './faults/table.js'
export { MODERATION_WORDS } from './protocols/moderations/words.js'
export { type Simulator, type SimulatorOptions, startSimulator } from './server.js'
