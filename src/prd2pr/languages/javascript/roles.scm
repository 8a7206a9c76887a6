; Roles of nodes in JavaScript and TypeScript files, for the shared modules of languages/syntax.

; --- code metrics
[(if_statement) (for_statement) (for_in_statement) (while_statement) (do_statement) (switch_case) (catch_clause)
 (ternary_expression) "&&" "||" "??"] @branch

; --- mutants, outside types. An operator in a chain that joins strings is not changed.
((binary_expression operator: _ @mutant) @whole (#not-joins-strings? @whole))
((number) @mutant
  (#not-inside? @mutant "type_annotation" "literal_type" "type_alias_declaration" "interface_declaration" "type_arguments")
  (#set! with "({mutant} + 1)"))
([(true) (false)] @mutant
  (#not-inside? @mutant "type_annotation" "literal_type" "type_alias_declaration" "interface_declaration" "type_arguments"))
((unary_expression operator: "!" argument: (_) @operand) @mutant (#set! with "({operand})"))

; --- values that source and tests may share
[(number) (string)] @literal
(array) @row

; --- places in the source that map one literal to another
(pair key: (_) @answer.given value: [(number) (string)] @answer.value) @answer
(array . [(number) (string)] @answer.given . [(number) (string)] @answer.value .) @answer
(switch_case value: [(number) (string)] @answer.given) @answer @answer.body
(if_statement condition: (_) @answer.condition consequence: (_) @answer.body) @answer
(ternary_expression condition: (_) @answer.condition consequence: (_) @answer.body) @answer
(binary_expression operator: ["==" "==="]) @equality
(return_statement [(number) (string)] @returned) @returned.statement
(call_expression arguments: (arguments [(number) (string)] @argument))

; --- names: what is bound to which value
(variable_declarator name: (_) @binding.name value: (_) @binding.value)
(assignment_expression left: (_) @binding.name right: (_) @binding.value)
(function_declaration name: (_) @binding.name body: (_) @binding.value)
(for_in_statement left: (_) @binding.name right: (_) @binding.value)

; --- uses of names
(call_expression function: (_) @use.head) @use
(new_expression constructor: (_) @use.head) @use
((identifier) @use.line (#not-inside? @use.line "import_statement"))
((call_expression function: (_) @hook) @hook.call
  (#any-of? @hook "before" "beforeEach" "beforeAll" "after" "afterEach" "afterAll"))

; --- modules that tests load, replace and call. Setting up a mock (`now.mockReturnValue(5)`) does not count as a call.
((call_expression function: (_) @callee arguments: (arguments (string) @loaded))
  (#any-of? @callee "import" "require") (#first? @loaded))
((call_expression function: (_) @callee arguments: (arguments (string) @replaced))
  (#match? @callee "(^|\\.)(mock|doMock|setMock|unstable_mockModule|mockModule)$|^mock\\.module$") (#first? @replaced))
(call_expression function: [(identifier) (import)] @called)
((call_expression function: (member_expression property: (_) @name) @called) (#not-match? @name "^mock"))
