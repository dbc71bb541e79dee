export type { Said, ScriptedModel, ToolCall } from './cli/testing/scripted-models.js'
export type { Call } from './cli/testing/scripted-upstreams.js'
export type { Script, ScriptedAnswer } from './cli/testing/test-file.js'
export { type TestGateway, type TestGatewayOptions, testGateway } from './cli/testing/test-gateway.js'
export * from './core/accounts.js'
export type { Check, CheckedCaller, CheckedRequest, OpenCheck, Verdict } from './core/check.js'
export type { Config } from './core/config.js'
export type { RequestEntry } from './core/entry.js'
export { ERROR_CODES, type ErrorCode, GatewayError } from './core/errors.js'
export type {
  CredentialModule,
  CredentialTools,
  GivenCredential,
  OpenCredential,
  RequestToSign,
} from './core/module-credential.js'
export type { Plan } from './core/plan.js'
export type { Problem } from './core/problems.js'
export { signUrl } from './core/signed-url.js'
export * from './core/store.js'
export type { StoreEvents } from './core/store-config.js'
export type { ModuleOptions, ModuleTools } from './core/user-module.js'
export { type Gateway, type StartOptions, startGateway as createGateway } from './runtime/gateway.js'
export { type FetchOptions, type MountOptions, toFetch, toNode, toUpgrade } from './runtime/mounted.js'
export { ConfigError, StartError } from './runtime/problems.js'
export type { OpenStoreModule } from './runtime/store-module.js'
