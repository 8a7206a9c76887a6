; Roles of nodes in Go files, for the shared modules of languages/syntax.

; --- code metrics
[(if_statement) (for_statement) (expression_case) (type_case) (communication_case) "&&" "||"] @branch

; --- mutants: `with` is the replacement; without it, the opposite of the operator or constant. Strings cannot be subtracted.
((binary_expression operator: _ @mutant) @whole (#not-eq? @mutant "+"))
((binary_expression operator: "+" @mutant) @whole
  (#not-contains? @whole "interpreted_string_literal" "raw_string_literal"))
((assignment_statement operator: _ @mutant) @whole
  (#not-contains? @whole "interpreted_string_literal" "raw_string_literal"))
(inc_statement "++" @mutant)
(dec_statement "--" @mutant)
((int_literal) @mutant (#not-child-of? @mutant "array_type") (#set! with "({mutant} + 1)"))
[(true) (false)] @mutant
((unary_expression operator: "!" operand: (_) @operand) @mutant (#set! with "({operand})"))

; --- values that source and tests may share
([(int_literal) (float_literal) (interpreted_string_literal) (raw_string_literal)] @literal
  (#not-child-of? @literal "import_spec"))
(literal_value) @row

; --- places in the source that map one literal to another
(keyed_element
  key: (literal_element [(int_literal) (float_literal) (interpreted_string_literal) (raw_string_literal)] @answer.given)
  value: (literal_element
    [(int_literal) (float_literal) (interpreted_string_literal) (raw_string_literal)] @answer.value)) @answer
(if_statement condition: (_) @answer.condition consequence: (_) @answer.body)
(expression_case
  value: (expression_list
    [(int_literal) (float_literal) (interpreted_string_literal) (raw_string_literal)] @answer.given)) @answer.body
(binary_expression operator: "==") @equality
(return_statement (expression_list
  [(int_literal) (float_literal) (interpreted_string_literal) (raw_string_literal)] @returned)) @returned.statement
(call_expression arguments: (argument_list
  [(int_literal) (float_literal) (interpreted_string_literal) (raw_string_literal)] @argument))
(short_var_declaration left: (expression_list) @short.name right: (expression_list) @short.value)

; --- names: what a file declares, and what is bound to which value
(function_declaration name: (_) @declared)
(type_spec name: (_) @declared)
(type_alias name: (_) @declared)
(const_spec name: (_) @declared)
(var_spec name: (_) @declared)
(parameter_declaration name: (_) @declared)
(variadic_parameter_declaration name: (_) @declared)
(type_parameter_declaration name: (_) @declared)
(short_var_declaration left: (_) @declared)
(range_clause left: (_) @declared)
(receive_statement left: (_) @declared)
(keyed_element key: (_) @declared)
(type_switch_statement alias: (_) @declared)

(short_var_declaration left: (_) @binding.name right: (_) @binding.value)
(assignment_statement left: (_) @binding.name right: (_) @binding.value)
(range_clause left: (_) @binding.name right: (_) @binding.value)
(var_spec name: (_) @binding.name value: (_) @binding.value)
(const_spec name: (_) @binding.name value: (_) @binding.value)
(function_declaration name: (_) @binding.name body: (_) @binding.value)

(short_var_declaration left: (_) @bound)
(var_spec name: (_) @bound)

; --- uses of names
(call_expression function: (_) @use.head) @use
(composite_literal type: (_) @use.head) @use
[(selector_expression) (index_expression)] @use.line
[(selector_expression) (qualified_type)] @member
