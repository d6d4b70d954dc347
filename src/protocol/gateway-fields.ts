/** Fields by which a request would tell a gateway behind us where, as whom or how often to call: they are never passed on. */

/**
 * Names as LiteLLM's proxy, Portkey's gateway and their like read them (their documentation of request parameters, 2026-11),
 * with underscores for hyphens. Matched as a whole.
 */
const GATEWAY_FIELD = new RegExp(
  `^(?:${[
    'api_?(?:base|key|keys|version|url|host|type)',
    'base_?(?:url|path)|endpoint(?:_?url)?|custom_?host|forward_headers',
    '(?:extra_|default_|custom_|dynamic_)?headers',
    '(?:context_window_|content_policy_|default_)?fallbacks?|disable_fallbacks',
    '(?:num_|max_)?retries|retry(?:_policy)?|cooldown_time',
    'mock_\\w+',
    'custom_llm_provider|model_list|model_config|deployment(?:_id)?|specific_deployment|override_params',
    '(?:litellm|aws|azure|vertex|gcp|oci|watsonx|databricks|sagemaker|portkey|user_api_key|router_settings)_\\w+',
    'organi[sz]ation(?:_id)?|(?:client|tenant|project)_(?:id|secret)|virtual_key|user_config',
    '(?:access_|auth_|bearer_|session_)?token|authorization|credentials|secret_fields|password',
    'proxy\\w*|allowed_model_region|region_name|no_log|proxies|verify_ssl|ssl_verify',
  ].join('|')})$`,
  'i',
);

/** Whether a field that this contract does not know would change where or as whom a gateway calls. */
export function isGatewayField(name: string): boolean {
  return GATEWAY_FIELD.test(name.replaceAll('-', '_'));
}

/** What is said of fields that were left out. */
export function gatewayFieldsLeftOut(names: readonly string[]): string {
  return `${names.join(', ')}: left out, because a gateway could take it for where or as whom to call`;
}
